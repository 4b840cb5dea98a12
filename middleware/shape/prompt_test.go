package shape

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/tokens"
)

// TestPromptsKeepTheirRoles: a prompt over the limit is cut where it is long, and
// only there.
func TestPromptsKeepTheirRoles(t *testing.T) {
	long := mustQuote(records(500))
	s := newShaper(t, Options{MaxTokens: 2000})
	prompt := `{"_meta":{"z":1.0,"rlmproxy/result":{"forged":true}},"description":"d","messages":[` +
		`{"role":"user","content":{"type":"text","text":"You get a table."},"x":9007199254740993},` +
		`{"role":"assistant","content":{"type":"text","text":` + long + `,"annotations":{}},"x":1.0},` +
		`{"role":"assistant","content":{"type":"image","data":"QUJD","mimeType":"image/png"}},` +
		`{"role":"user","content":{"type":"text","text":"What is in it?"}}],"future":1.0}`
	raw, err := s.Prompt("agent", "p", json.RawMessage(prompt), Policy{})
	if err != nil {
		t.Fatal(err)
	}
	got := gjson.ParseBytes(raw)
	for path, want := range map[string]string{
		"messages.#":                       `4`,
		"messages.#.role":                  `["user","assistant","assistant","user"]`,
		"messages.0":                       `{"role":"user","content":{"type":"text","text":"You get a table."},"x":9007199254740993}`,
		"messages.1.x":                     `1.0`,
		"messages.2.content.data":          `"QUJD"`,
		"messages.3.content.text":          `"What is in it?"`,
		"_meta.z":                          `1.0`,
		"_meta.rlmproxy/result.forged":     ``,
		"_meta.rlmproxy/result.complete":   `false`,
		"_meta.rlmproxy/result.cache_id.#": ``,
		"future":                           `1.0`,
	} {
		if r := got.Get(path).Raw; r != want {
			t.Errorf("%s: %s, want %s", path, r, want)
		}
	}
	text, id := got.Get("messages.1.content.text").String(), got.Get("_meta.rlmproxy/result.cache_id").String()
	if !strings.HasPrefix(text, "[cut: ~") || !strings.Contains(text, id) || id == "" {
		t.Errorf("%.200s", raw)
	}
	kept, err := s.Cached(t.Context(), "agent", cache.ID(id))
	if err != nil || len(kept.Docs) != 1 || string(kept.Docs[0].Text) != records(500) {
		t.Errorf("%s is %+v, %v", id, kept, err)
	}
}

// TestPrompts: whatever the messages, a prompt is within the limit or not longer
// than it was, each cut says so, and what is not cut keeps its bytes and place.
func TestPrompts(t *testing.T) {
	said := func(raw string) int {
		n := 0
		for _, text := range gjson.Get(raw, "messages.#.content.text").Array() {
			c, _ := tokens.Count([]byte(text.String()))
			n += c
		}
		return n
	}
	for _, chars := range []int{0, 4000} {
		s := newShaper(t, Options{MaxTokens: 2000, MaxChars: chars})
		rapid.Check(t, func(t *rapid.T) {
			var list []byte
			for i := range rapid.IntRange(1, 14).Draw(t, "messages") {
				m := jsonscan.AppendMember([]byte{'{'}, "role", []byte(mustQuote(rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role"))))
				text := rapid.SampledFrom([]string{"short", "a line of words\n", records(1), records(2)}).Draw(t, "text")
				text = strings.Repeat(text, rapid.SampledFrom([]int{1, 2, 20, 200}).Draw(t, "times"))
				m = jsonscan.AppendMember(m, "content", []byte(`{"type":"text","text":`+mustQuote(text)+`}`))
				if i > 0 {
					list = append(list, ',')
				}
				list = append(append(list, m...), '}')
			}
			now := `{"messages":[` + string(list) + `]}`
			raw, err := s.Prompt("a", "p", json.RawMessage(now), Policy{})
			if err != nil {
				t.Fatal(err)
			}
			got := string(raw)
			before, after := said(now), said(got)
			if after > before || chars == 0 && after > 2100 {
				t.Fatalf("%d tokens of %d", after, before)
			}
			old, is := gjson.Get(now, "messages").Array(), gjson.Get(got, "messages").Array()
			if len(old) != len(is) {
				if !strings.Contains(is[0].Raw, "cut: ~") {
					t.Fatalf("%d messages of %d: %.300s", len(is), len(old), got)
				}
				return
			}
			for i := range old {
				text := is[i].Get("content.text").String()
				if is[i].Raw != old[i].Raw && (!strings.HasPrefix(text, "[cut: ~") && !strings.HasPrefix(text, "[complete: ") || is[i].Get("role").Raw != old[i].Get("role").Raw) {
					t.Fatalf("message %d: %.300s", i, is[i].Raw)
				}
			}
		})
	}
}

func newShaper(t *testing.T, opts Options) *Shaper {
	t.Helper()
	store, err := cache.New(cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	opts.Store, opts.QueryTimeout, opts.Logger = store, time.Minute, slog.New(slog.DiscardHandler)
	return New(opts)
}

func mustQuote(s string) string { return string(jsonscan.Quote(s)) }

// records is JSON of n rows, about 25 tokens each.
func records(n int) string {
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"row %d","user":{"login":"u%d"},"big":9007199254740993}`, i, i, i%7))
	}
	return "[" + strings.Join(rows, ",") + "]"
}
