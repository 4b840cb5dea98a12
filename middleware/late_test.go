package middleware

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/upstream"
)

// A late server has connected once somebody has waited for it.
type late struct{ *fake }

func (l late) Settled(context.Context) {
	l.state = upstream.Ready
	l.prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
	l.info = &upstream.Info{Capabilities: &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{}}}
}

// TestLateServer: requests for prompts and resources of a server that is still
// connecting wait for it, as calls of tools do.
func TestLateServer(t *testing.T) {
	for _, tt := range []struct{ method, params string }{
		{"prompts/get", `{"name":"l_p"}`},
		{"resources/read", `{"uri":"s-l+x:a"}`},
		{"resources/read", `{"uri":"x:a"}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"l_p"},"argument":{}}`},
	} {
		f := server(nil, "t")
		f.state = upstream.Connecting
		f.answer = func(context.Context, upstream.Request) (json.RawMessage, error) {
			if f.state != upstream.Ready {
				return nil, context.Canceled
			}
			return json.RawMessage(`{"messages":[],"contents":[],"found":true}`), nil
		}
		s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "l", Prefix: "l", Conn: late{f}}, {Name: "o", Prefix: "o", Conn: server(nil, "t")}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := ask(t, clientOf(t, s, nil, clientOptions{}), tt.method, tt.params); !strings.Contains(got, `"found":true`) {
			t.Errorf("%s %s: %s", tt.method, tt.params, got)
		}
	}
}
