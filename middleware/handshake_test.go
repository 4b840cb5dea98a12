package middleware

import (
	"bufio"
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
		{`"method":"tools/list"}`, `"error":{"code":-32600,"message":"a session begins with initialize`},
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
