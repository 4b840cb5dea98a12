package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline"
)

// TestWholeReplies: with whole, all there is comes in one reply, up to a ceiling.
func TestWholeReplies(t *testing.T) {
	text := strings.Repeat("a line of text\n", 3000)
	b := newBench(t, text, 2000)
	for _, tt := range []struct{ args, want string }{
		{`"whole":true`, text},
		{`"whole":true,"offset":2990`, "[10 of 3,000 lines, from offset 2990]\n" + strings.Repeat("a line of text\n", 10)},
		{`"whole":true,"jq":"split(\"\\n\")[:2000]","format":"text"`, strings.Repeat("a line of text\n", 2000)},
	} {
		if got, _ := b.ask(t, "proxy_filter", `{"cache_id":"ID",`+tt.args+`}`); got != tt.want {
			t.Errorf("%s: %.200s", tt.args, got)
		}
	}
	b = newBench(t, strings.Repeat(text, 4), 2000)
	_, err := b.tools.Call(t.Context(), "agent", "proxy_filter", json.RawMessage(fmt.Sprintf(`{"cache_id":%q,"whole":true}`, b.id)), Reach{Fresh: b, Healer: b})
	var e *pipeline.Error
	if !errors.As(err, &e) || !strings.Contains(e.Text, "~60,079 tokens; maxWholeTokens is 25,000") ||
		e.Hint != fmt.Sprintf(`read about 16 pages, the first with proxy_filter {"cache_id":%q,"offset":0}; or select with fields, jq or proxy_search`, b.id) {
		t.Errorf("over the ceiling: %v", err)
	}
}

// TestListBelowAWrapper: pages are of the list, and the first says what is around it.
func TestListBelowAWrapper(t *testing.T) {
	for _, tt := range []struct{ name, doc, first, second string }{
		{"member", `{"success":true,"data":` + records(500) + `,"next":null}`, "[%s of 500 items of data · next offset %s]\n[around the list: {\"success\":true,\"data\":\"… 500 items …\",\"next\":null}]\n[{\"id\":0,", "items of data, from offset "},
		{"deeper", `{"data":{"n":1,"rows":` + records(500) + `}}`, "[%s of 500 items of data.rows · next offset %s]\n[around the list: {\"data\":{\"n\":1,\"rows\":\"… 500 items …\"}}]\n[{\"id\":0,", "items of data.rows, from offset "},
		{"in a string", `{"result":` + string(jsonscan.Quote(records(500))) + `}`, "[%s of 500 items of result|fromjson · next offset %s]\n[around the list: {\"result\":\"… 500 items …\"}]\n[{\"id\":0,", "items of result|fromjson, from offset "},
		{"object", `{"version":2,"waiters":{"a":` + records(100) + `,"b":` + records(100) + `,"c":` + records(100) + `}}`, "[%s of 3 fields of waiters · next offset %s]\n[around the list: {\"version\":2,\"waiters\":\"… 3 fields …\"}]\n{\"a\":", "fields of waiters, from offset "},
	} {
		b := newBench(t, tt.doc, 2000)
		got, _ := b.ask(t, "proxy_filter", `{"cache_id":"ID"}`)
		m := nextOffset.FindStringSubmatch(strings.SplitN(got, "\n", 2)[0])
		if m == nil || !strings.HasPrefix(got, fmt.Sprintf(tt.first, m[1], m[1])) {
			t.Errorf("%s: %.300s", tt.name, got)
			continue
		}
		got, _ = b.ask(t, "proxy_filter", `{"cache_id":"ID","offset":`+m[1]+`}`)
		if !strings.Contains(strings.SplitN(got, "\n", 2)[0], tt.second+m[1]) || strings.Contains(got, "around the list") {
			t.Errorf("%s, next page: %.300s", tt.name, got)
		}
	}
}

// TestFormatText: the bytes of JSON as it came, page by page.
func TestFormatText(t *testing.T) {
	doc := "{\n" + strings.Repeat("  \"a\": [1,  2],\n", 2000) + "  \"z\": 1.0\n}\n"
	b := newBench(t, doc, 2000)
	got, _ := b.ask(t, "proxy_filter", `{"cache_id":"ID","format":"text","offset":2000}`)
	if want := "[3 of 2,003 lines, from offset 2000]\n  \"a\": [1,  2],\n  \"z\": 1.0\n}\n"; got != want {
		t.Errorf("got %q", got)
	}
	if got, _ = b.ask(t, "proxy_filter", `{"cache_id":"ID","format":"text","whole":true}`); got != doc {
		t.Errorf("got %.200s", got)
	}
}
