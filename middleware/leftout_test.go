package middleware

import (
	"strings"
	"testing"

	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/upstream"
)

// A fullServer offers more than is listed of it.
type fullServer struct{ *fake }

func (fullServer) LeftOut() upstream.LeftOut {
	return upstream.LeftOut{N: 3001, Names: []string{"a", "b\x1b[2J"}, Why: "more than 2000"}
}

// TestLeftOut: who lists tools, or misses one, learns that there are more.
func TestLeftOut(t *testing.T) {
	_, c := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: fullServer{server(nil, "one")}}, {Name: "o", Prefix: "o", Conn: server(nil, "two")}}})
	list, err := c.Call(t.Context(), "tools/list", nil)
	want := `"_meta":{"rlmproxy/left_out":[{"server":"s","number":3001,"tools":["a","b\u001b[2J"],"why":"more than 2000"}]}`
	if err != nil || !strings.Contains(string(list), want) {
		t.Errorf("%s, %v", list, err)
	}
	if got, want := call(t, c, "x", "{}"), `server \"s\": 3,001 tools left out (more than 2000)`; !strings.Contains(got, want) {
		t.Errorf("%s", got)
	}
	// Who may not use all tools does not hear of those.
	_, c = dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: fullServer{server(nil, "one")}}, {Name: "o", Prefix: "o", Conn: server(nil, "two")}},
		Rights: &rights.Rules{Agents: map[string]rights.Entry{rights.Others: {Allow: []string{"one"}}}}})
	list, err = c.Call(t.Context(), "tools/list", nil)
	if got := string(list) + call(t, c, "x", "{}"); err != nil || strings.Contains(got, "left") {
		t.Errorf("%s, %v", got, err)
	}
}
