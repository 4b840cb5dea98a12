package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"

	"rlmproxy/middleware/upstream"
)

// TestStatesStayWithTheirServer: what one server gave a client to send back, and
// the answers to its questions, reach no other server, however the resource is
// named.
func TestStatesStayWithTheirServer(t *testing.T) {
	var mu sync.Mutex
	var leaked []string
	one := offering(nil)
	one.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		if strings.Contains(string(r.Params), "requestState") || strings.Contains(string(r.Params), "inputResponses") {
			mu.Lock()
			defer mu.Unlock()
			leaked = append(leaked, string(r.Params))
		}
		return nil, &jsonrpc.Error{Code: -32002, Message: "Resource not found"}
	}
	two := offering(nil)
	var s *Server
	two.answer = func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		uri := gjson.GetBytes(r.Params, "uri").String()
		if gjson.GetBytes(r.Params, "inputResponses").Exists() {
			return json.RawMessage(`{"contents":[],"got":` + string(r.Params) + `}`), nil
		}
		switch uri {
		case "file:///asks":
			raw, err := s.Ask(ctx, "two", "elicitation/create", json.RawMessage(`{}`))
			return json.RawMessage(`{"contents":[],"answer":` + string(raw) + `}`), err
		case "file:///state":
			return json.RawMessage(`{"resultType":"input_required","inputRequests":{"k":{}},"requestState":"rlmproxy=a:b","z":1.0}`), nil
		}
		return json.RawMessage(`{"resultType":"input_required","inputRequests":{"k":{}}}`), nil
	}
	s, _ = dial(t, Options{Upstreams: []Upstream{{Name: "one", Prefix: "one", Conn: one}, {Name: "two", Prefix: "two", Conn: two}}})
	conn := attach(t, s, Identity{Name: "ann"}, clientOptions{})
	other := attach(t, s, Identity{Name: "bob"}, clientOptions{})
	read := func(conn client, uri, more string) string {
		t.Helper()
		return ask(t, conn, "resources/read", fmt.Sprintf(`{"uri":%q,%s%s}`, uri, more, statelessMeta("")))
	}
	for _, tt := range []struct{ uri, state, want string }{
		{"file:///asks", "", `"answer":{"q":1.0}`},
		{"file:///state", `"rlmproxy-at:s-two=rlmproxy=a:b"`, `"requestState":"rlmproxy=a:b"`},
		{"file:///none", `"rlmproxy-at:s-two"`, `"inputResponses":{"k":{},"q1":{"q":1.0}}`},
		{"s-two+file:///state", `"rlmproxy=a:b"`, `"requestState":"rlmproxy=a:b"`},
	} {
		first := read(conn, tt.uri, "")
		state := gjson.Get(first, "requestState").Raw
		if tt.state != "" && state != tt.state {
			t.Errorf("%s: %s", tt.uri, first)
		}
		again := `"requestState":` + state + `,"inputResponses":{"k":{},"q1":{"q":1.0}},`
		if strings.HasPrefix(state, `"rlmproxy:`) {
			if got := read(other, tt.uri, again); !strings.Contains(got, "requestState does not come from a server") {
				t.Errorf("%s: another agent goes on with it: %s", tt.uri, got)
			}
		}
		if got := read(conn, tt.uri, again); !strings.Contains(got, tt.want) || strings.Contains(got, "rlmproxy-at") || tt.uri == "file:///none" && strings.Contains(got, "requestState") {
			t.Errorf("%s: %s", tt.uri, got)
		}
	}
	for _, more := range []string{`"requestState":"x",`, `"inputResponses":{},`, `"requestState":"rlmproxy-at:s-three=x",`, `"requestState":7,`} {
		if got := read(conn, "file:///state", more); !strings.Contains(got, "requestState does not come from a server") {
			t.Errorf("%s: %s", more, got)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(leaked) > 0 {
		t.Errorf("the other server gets %s", leaked)
	}
}

func TestSchemes(t *testing.T) {
	ups := []Upstream{{Name: "git"}, {Name: "git_hub"}, {Name: "git.hub"}, {Name: "Git.Hub"}, {Name: "a b"}}
	given := schemes(pointers(ups))
	for name, want := range map[string]string{"git": "s-git", "a b": "s-a.b"} {
		if given[name] != want {
			t.Errorf("%s: %s, want %s", name, given[name], want)
		}
	}
	seen := map[string]bool{}
	for name, scheme := range given {
		if seen[strings.ToLower(scheme)] {
			t.Errorf("%s: a second %s", name, scheme)
		}
		seen[strings.ToLower(scheme)] = true
	}
	ups[1], ups[3] = ups[3], ups[1]
	for name, scheme := range schemes(pointers(ups)) {
		if given[name] != scheme {
			t.Errorf("%s: %s in another order, %s before", name, scheme, given[name])
		}
	}
}
