package shape

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"rlmproxy/bench/outputs"
	"rlmproxy/cache"
	"rlmproxy/jsonscan"
)

// TestSeen: what a session is shown of results that it has been shown before.
func TestSeen(t *testing.T) {
	page := func(name string) string {
		b, err := outputs.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before, after := page("page-before-click.txt"), page("page-after-click.txt")
	var rows strings.Builder
	for i := range 800 {
		fmt.Fprintf(&rows, `{"id":%d,"state":{"name":"open","by":%d}},`, i, i*7919%1000)
	}
	list := `[` + rows.String() + `{}]`
	shut := strings.Replace(list, `{"id":7,"state":{"name":"open"`, `{"id":7,"state":{"name":"shut"`, 1)
	const preview = "[cut: ~"
	for _, tt := range []struct {
		name    string
		results []string // one after the other; "" is a short one
		want    []string // of the first line of the last, or its text
		unlike  string
	}{
		{"first", []string{before}, []string{preview}, "the same"},
		{"the same", []string{before, before}, []string{"[cut: ~0 of ~", "the same as 1 reply ago; proxy_explore shows it · cache_id="}, "\n-"},
		{"others between", []string{before, "", list, before}, []string{"the same as 3 replies ago"}, "\n-"},
		{"too many between", append(append([]string{before}, make([]string, 20)...), before), []string{preview}, "the same"},
		{"changed", []string{before, list, after}, []string{"what changed since cache_id=", "places, and 7 lines reindented · cache_id=", "[expanded] [active]"}, "[ref=e20]"},
		{"changed records", []string{list, shut}, []string{": 1 place · cache_id=", "@ line 23\n-[7].state.name: \"open\"\n+[7].state.name: \"shut\"\n"}, "[8]"},
		{"other", []string{before, list}, []string{preview, "JSON"}, "changed"},
	} {
		store, err := cache.New(cache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := New(Options{Store: store, MaxTokens: 2000})
		reply := func(result string, seen *Seen) string {
			raw := fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, jsonscan.Quote(result))
			out, err := s.ToolResult("a", cache.Origin{Tool: "x"}, raw, Policy{Seen: seen})
			if err != nil {
				t.Fatal(err)
			}
			return textOf(t, out)
		}
		seen := &Seen{}
		var last string
		for _, result := range tt.results {
			last = reply(result, seen)
		}
		for _, want := range tt.want {
			if !strings.Contains(last, want) {
				t.Errorf("%s: no %q in\n%.600s", tt.name, want, last)
			}
		}
		if strings.Contains(last, tt.unlike) {
			t.Errorf("%s: %q in\n%.600s", tt.name, tt.unlike, last)
		}
		// Another session, or one that remembers nothing, gets the preview.
		for _, fresh := range []*Seen{nil, {}} {
			if got := reply(tt.results[len(tt.results)-1], fresh); strings.Contains(got, "the same as") || strings.Contains(got, "changed since") {
				t.Errorf("%s, fresh: %.200s", tt.name, got)
			}
		}
		store.Close()
	}
}

// TestSeenFails: a failure is shown, however often it comes.
func TestSeenFails(t *testing.T) {
	store, err := cache.New(cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := New(Options{Store: store, MaxTokens: 500})
	raw := fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":true}`, jsonscan.Quote(strings.Repeat("panic at the start\n", 500)))
	seen := &Seen{}
	for range 2 {
		out, err := s.ToolResult("a", cache.Origin{}, raw, Policy{Seen: seen})
		if err != nil || !strings.Contains(textOf(t, out), "panic at") {
			t.Errorf("%s, %v", out, err)
		}
	}
}

// textOf is the text of the result of a tools/call.
func textOf(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	r, err := ParseToolResult(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(join(r.Docs))
}
