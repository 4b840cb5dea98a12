package middleware

import (
	"strings"
	"testing"
)

// TestMediaRepeated: structured content that repeats an image or audio is no text
// to cut; what has more to say is.
func TestMediaRepeated(t *testing.T) {
	data := strings.Repeat("iVBORw0KGgo", 4000)
	image := `{"type":"image","data":"` + data + `","mimeType":"image/png"}`
	audio := strings.Replace(image, "image", "audio", 1)
	for _, tt := range []struct {
		content, structured string
		docs                int
	}{
		{image, `{"content":[` + image + `]}`, 0},
		{audio, `{"sound":{"base64":"` + data + `"},"of":"a.mp3"}`, 0},
		{image + "," + strings.ReplaceAll(image, "iV", "Vi"), `[` + image + "," + strings.ReplaceAll(image, "iV", "Vi") + `]`, 0},
		{image, `{"content":[` + strings.ReplaceAll(image, "iV", "Vi") + `]}`, 1},
		{image, `{"content":[` + image + `],"text":"` + strings.Repeat("words ", 300) + `"}`, 1},
		{image + `,{"type":"text","text":"a"}`, `{"a":"` + data + `"}`, 1},
	} {
		r, err := parseResult([]byte(`{"content":[` + tt.content + `],"structuredContent":` + tt.structured + `}`))
		if err != nil || len(r.docs) != tt.docs {
			t.Errorf("%.40s, %.40s: %d documents, %v", tt.content, tt.structured, len(r.docs), err)
		}
	}
}
