package shape

import (
	"encoding/json"
	"strings"
	"testing"

	"rlmproxy/cache"
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
	long := `{\"rows\":[` + strings.Repeat(`{\"id\":1},`, 50) + `{}]}`
	for raw, want := range map[string]int{
		`{"content":[{"type":"text","text":"[1, 2]"}],"structuredContent":[1,2]}`:                                                           1,
		`{"content":[{"type":"text","text":"{\"b\":\"\\u00e9\",\"a\":[1]}"}],"structuredContent":{"a":[1],"b":"é"}}`:                        1,
		`{"content":[{"type":"text","text":"Found these:\n` + long + `"}],"structuredContent":` + strings.ReplaceAll(long, `\"`, `"`) + `}`: 1,
		`{"content":[{"type":"text","text":"{\"a\":9007199254740993}"}],"structuredContent":{"a":9007199254740992}}`:                        2,
		`{"content":[{"type":"text","text":"x"}],"structuredContent":{"content":"x"}}`:                                                      1,
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":"{\"b\": 1}"}],"structuredContent":{"result":["a",{"b":1}]}}`:         2,
		`{"content":[{"type":"text","text":"a"}],"structuredContent":{"result":["a","b"]}}`:                                                 2,
		`{"content":[{"type":"text","text":"x"}],"structuredContent":{"content":"x","more":1}}`:                                             2,
		`{"content":[],"structuredContent":{"a":1}}`:                                                                                        1,
	} {
		r, err := ParseToolResult(json.RawMessage(raw))
		if err != nil || len(r.Docs) != want {
			t.Errorf("%s: %d documents, want %d, %v", raw, len(r.Docs), want, err)
		}
	}
}

// TestKeptOnce: the cache keeps no structured content that a text says too.
func TestKeptOnce(t *testing.T) {
	store, err := cache.New(cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := New(Options{Store: store, MaxTokens: 10})
	long := `[` + strings.Repeat(`1,`, 5000) + `1]`
	raw := json.RawMessage(`{"content":[{"type":"text","text":"` + long + `"}],"structuredContent":{"result":` + long + `},"isError":false}`)
	for name, keep := range map[string]func() (cache.ID, error){
		"cut": func() (cache.ID, error) {
			reply, err := s.ToolResult("cut", cache.Origin{}, raw, Policy{})
			facts, _ := FactsOf(reply)
			return facts.CacheID, err
		},
		"fresh": func() (cache.ID, error) { return s.Keep("fresh", cache.Origin{}, raw) },
	} {
		id, err := keep()
		if err != nil {
			t.Fatal(err)
		}
		entry, err := store.Get(name, id)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(entry.Data); n < len(long) || n > len(long)+100 {
			t.Errorf("%s: %d bytes are kept of %d, which hold %d twice", name, n, len(raw), len(long))
		}
	}
}
