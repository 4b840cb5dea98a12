package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"rlmproxy/middleware/upstream"
)

// TestLastOfItsName: of a repeated member the last one counts for all who decide by
// it, and it reaches the server in the place of the others.
func TestLastOfItsName(t *testing.T) {
	said := func(name string) *fake {
		f := offering(nil)
		f.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"contents":[],"messages":[],"by":%q,"got":%s}`, name, r.Params), nil
		}
		return f
	}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "one", Prefix: "one", Conn: said("one")}, {Name: "two", Prefix: "two", Conn: said("two")}}})
	for _, tt := range []struct{ method, params, want string }{
		{"resources/read", `{"uri":"s-one+x:a","uri":"s-two+x:b"}`, `{"contents":[],"messages":[],"by":"two","got":{"uri":"x:b","uri":"x:b"}}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"s-one+x:a"},"ref":{"type":"ref/prompt","type":"ref/resource","uri":"s-one+x:a","uri":"s-two+x:b"}}`,
			`{"contents":[],"messages":[],"by":"two","got":{"ref":{"type":"ref/resource","uri":"x:b"},"ref":{"type":"ref/prompt","type":"ref/resource","uri":"x:b","uri":"x:b"}}}`},
	} {
		if got := ask(t, conn, tt.method, tt.params); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.params, got, tt.want)
		}
	}
	for _, tt := range []struct{ ours, theirs, want string }{
		{`{"a":{}}`, `{"x":1,"x":2}`, `{"a":{},"x":2}`},
		{`{"a":{"b":1}}`, `{"a":{"c":1},"a":{"c":2}}`, `{"a":{"b":1,"c":2}}`},
		{`{"a":{"b":1}}`, `{"a":{"c":1},"a":7}`, `{"a":{"b":1}}`},
	} {
		if out := merged(json.RawMessage(tt.ours), json.RawMessage(tt.theirs)); string(out) != tt.want {
			t.Errorf("%s and %s: %s", tt.ours, tt.theirs, out)
		}
	}
}

// TestLastIsError: a fresh call's result is an error, or wants input, as parseResult
// reads it.
func TestLastIsError(t *testing.T) {
	_, conn := dial(t, Options{FreshCalls: FreshAll, Upstreams: []Upstream{{Name: "s", Prefix: "s", Conn: server(map[string]string{
		"error": `{"content":[{"type":"text","text":"no such file"}],"isError":false,"\u0069sError":true}`,
		"fine":  `{"content":[{"type":"text","text":"fine"}],"isError":true,"isError":false}`,
	}, "error", "fine")}}})
	for tool, want := range map[string]string{"error": "no such file", "fine": "1"} {
		got := decode(t, call(t, conn, "proxy_filter", fmt.Sprintf(`{"tool":"s_%s","jq":"[.] | length"}`, tool)))
		if text := got.Content[0].Text; got.IsError != (tool == "error") || !strings.HasSuffix(text, want) {
			t.Errorf("%s: error %v, %s", tool, got.IsError, text)
		}
	}
}
