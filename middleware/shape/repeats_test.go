package shape

import (
	"encoding/json"
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
		r, err := ParseToolResult([]byte(`{"content":[` + tt.content + `],"structuredContent":` + tt.structured + `}`))
		if err != nil || len(r.Docs) != tt.docs {
			t.Errorf("%.40s, %.40s: %d documents, %v", tt.content, tt.structured, len(r.Docs), err)
		}
	}
}

// TestRepeats: a list that comes as blocks and as structured content is one.
func TestRepeats(t *testing.T) {
	for raw, want := range map[string]int{
		`{"content":[{"type":"text","text":"[1, 2]"}],"structuredContent":[1,2]}`:                                                   1,
		`{"content":[{"type":"text","text":"x"}],"structuredContent":{"content":"x"}}`:                                              1,
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":"{\"b\": 1}"}],"structuredContent":{"result":["a",{"b":1}]}}`: 2,
		`{"content":[{"type":"text","text":"a"}],"structuredContent":{"result":["a","b"]}}`:                                         2,
		`{"content":[{"type":"text","text":"x"}],"structuredContent":{"content":"x","more":1}}`:                                     2,
		`{"content":[],"structuredContent":{"a":1}}`:                                                                                1,
	} {
		r, err := ParseToolResult(json.RawMessage(raw))
		if err != nil || len(r.Docs) != want {
			t.Errorf("%s: %d documents, want %d, %v", raw, len(r.Docs), want, err)
		}
	}
}
