package shape

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"rlmproxy/cache"
)

// TestManyImages: no limit counted images, audio and links: fifty thousand of them
// reached the agent. A hundred do, as they came, and the others can be read.
func TestManyImages(t *testing.T) {
	store, err := cache.New(cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := New(Options{Store: store, MaxTokens: 1000, QueryTimeout: time.Second, Logger: slog.New(slog.DiscardHandler)})
	images := func(n, size int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"data":"%d%s","type":"image","x":1.0,"mimeType":"image/png"}`, i, strings.Repeat("A", size)))
		}
		return strings.Join(all, ",")
	}
	text := func(n int) string {
		return `{"type":"text","text":"` + strings.Repeat("one line of many\\n", n) + `"}`
	}
	for _, c := range []struct {
		name, content string
		images        int    // that reach the agent
		text          string // the reply begins so; empty: the result is as it came
	}{
		{"few", images(maxOthers, 100), maxOthers, ""},
		{"few, and text", text(3) + "," + images(maxOthers, 100), maxOthers, ""},
		{"few large", images(3, 10<<20), 3, ""},
		{"many", images(50_000, 1), maxOthers, "[cut: 100 of 50,000 images, audio and links shown · cache_id="},
		{"many, and text", images(50_000, 1) + "," + text(2), maxOthers, "[cut: 100 of 50,000 images, audio and links shown · cache_id="},
		{"many, and long text", images(150, 1) + "," + text(3000), maxOthers, "[cut: 100 of 150 images, audio and links shown · cache_id="},
		{"large", images(5, 10<<20), 3, "[cut: 3 of 5 images, audio and links shown · cache_id="},
		{"links", strings.Repeat(`{"type":"resource_link","uri":"file:///a"},`, 500) + text(1), maxOthers, "[cut: 100 of 500 images"},
	} {
		raw := json.RawMessage(`{"content":[` + c.content + `]}`)
		out, err := s.ToolResult("a", cache.Origin{Tool: "t"}, raw, Policy{})
		if err != nil {
			t.Fatal(err)
		}
		if c.text == "" {
			if string(out) != string(raw) {
				t.Errorf("%s: %.200s", c.name, out)
			}
			continue
		}
		var got struct {
			Content []json.RawMessage
			Meta    struct {
				Facts Facts `json:"rlmproxy/result"`
			} `json:"_meta"`
		}
		var first struct{ Text string }
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got.Content[0], &first); err != nil {
			t.Fatal(err)
		}
		if len(got.Content) != 1+c.images || !strings.HasPrefix(first.Text, c.text) || got.Meta.Facts.Complete {
			t.Errorf("%s: %d blocks, %+v:\n%.300s", c.name, len(got.Content), got.Meta.Facts, first.Text)
		}
		if strings.Contains(c.content, "one line of many") != strings.Contains(first.Text, "one line of many") {
			t.Errorf("%s: the text is gone: %.300s", c.name, first.Text)
		}
		if b := got.Content[1]; !strings.Contains(c.content, string(b)) {
			t.Errorf("%s: %.100s is not as it came", c.name, b)
		}
		_, uri, _ := strings.Cut(first.Text, "next: read the resource ")
		uri, _, _ = strings.Cut(uri, ",")
		h, _ := ParseHandle(uri)
		next, _ := s.Block(t.Context(), "a", h)
		if want := fmt.Sprintf(`"mimeType":"image/png","blob":"%dA`, c.images); c.name != "links" && !strings.Contains(string(next), want) {
			t.Errorf("%s: %q: %.200s", c.name, uri, next)
		}
		if c.name == "links" && !strings.Contains(string(next), `resource_link`) {
			t.Errorf("%s: %q: %.200s", c.name, uri, next)
		}
	}
}
