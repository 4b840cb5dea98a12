package middleware

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// TestOddHandshakes: a second initialize once ended the proxy, and a request before
// the first was refused under a name that only the proxy knows.
func TestOddHandshakes(t *testing.T) {
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: server(nil, "x")}}})
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), r1, w2) }()
	lines := bufio.NewScanner(r2)
	const initialize = `"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for _, tt := range []struct{ request, want string }{
		{`"method":"tools/list"}`, `"error":{"code":-32600,"message":"send initialize first`},
		{`"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`, `"error":`},
		{`"method":"server/discover"}`, `"error":`},
		{`"method":"initialize"}`, `"error":`},
		{initialize, `"serverInfo"`},
		{initialize, `"error":`},
		{`"method":"tools/list"}`, `"tools":[`},
	} {
		if _, err := io.WriteString(w1, `{"jsonrpc":"2.0","id":1,`+tt.request+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || !strings.Contains(lines.Text(), tt.want) {
			t.Errorf("%s:\n%s, want %s", tt.request, lines.Text(), tt.want)
		}
	}
	w1.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestWhoIsPassedOn: servers are told who a client says it is where they can read it;
// otherwise the proxy introduces itself.
func TestWhoIsPassedOn(t *testing.T) {
	long := `{"name":"` + strings.Repeat("x", maxInfoBytes) + `","version":"1"}`
	for who, want := range map[string]bool{
		`{"name":"a","version":"1","title":"A","future":[1.0]}`: true,
		"{\n\"name\":\"a\",\n\"version\":\"\"}":                 true,
		`{}`:                                                    false,
		`{"name":"a"}`:                                          false,
		`{"name":"a","version":1}`:                              false,
		`{"NAME":"a","Version":"1"}`:                            false,
		`{"name":"","version":"1"}`:                             false,
		`{"name":"a","version":"1","title":5}`:                  false,
		`{"name":"a","version":"1","icons":{}}`:                 false,
		`["a"]`:                                                 false,
		`null`:                                                  false,
		``:                                                      false,
		long:                                                    false,
	} {
		if got := introduces(json.RawMessage(who)); got != want {
			t.Errorf("%.60s: servers are told: %t", who, got)
		}
	}
}
