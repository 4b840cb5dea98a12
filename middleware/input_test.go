package middleware

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/upstream"
)

// rounder is a server of the stateless revision that answers by what it is sent.
func rounder(answer func(params gjson.Result) string) *fake {
	f := server(nil, "x")
	f.info = &upstream.Info{ProtocolVersion: revision.Stateless, Capabilities: &mcp.ServerCapabilities{}}
	f.raw = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		return json.RawMessage(answer(gjson.ParseBytes(r.Params))), nil
	}
	return f
}

// TestInputOfOlderClients: a client that is asked the old way gets the answer
// of a server that asks the new way.
func TestInputOfOlderClients(t *testing.T) {
	var params []string
	var levels []string
	f := rounder(func(p gjson.Result) string {
		params = append(params, p.Raw)
		switch p.Get("requestState").String() {
		case "":
			return `{"resultType":"input_required","requestState":"s1","inputRequests":{
				"name":{"method":"elicitation/create","params":{"message":"who?","z":1.0}},
				"where":{"method":"elicitation/create","params":{"message":"where?"}}}}`
		case "s1":
			return `{"resultType":"input_required","requestState":"s2"}`
		}
		return `{"resultType":"complete","content":[{"type":"text","text":"done"}],"n":9007199254740993}`
	})
	call := f.raw
	f.raw = func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		if !session.Declares(r.Can, "elicitation/create") || r.Stateless {
			t.Errorf("the server is told %s, newest: %t", r.Can, r.Stateless)
		}
		levels = append(levels, r.Level)
		return call(ctx, r)
	}
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	var asked []string
	conn := clientOf(t, s, canElicit, clientOptions{Handle: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		asked = append(asked, method+string(params))
		return json.RawMessage(`{"action":"accept","n":1.0}`), nil
	}})
	if got := ask(t, conn, "logging/setLevel", `{"level":"error"}`); got != "{}" {
		t.Fatal(got)
	}
	got := ask(t, conn, "tools/call", `{"name":"x","arguments":{"a":1.0}}`)
	if want := `{"resultType":"complete","content":[{"type":"text","text":"done"}],"n":9007199254740993}`; got != want {
		t.Errorf("the client gets %s", got)
	}
	if want := `elicitation/create{"message":"who?","z":1.0}elicitation/create{"message":"where?"}`; strings.Join(asked, "") != want {
		t.Errorf("asked %q", asked)
	}
	for i, want := range []string{
		`{"name":"x","arguments":{"a":1.0}}`,
		`{"name":"x","arguments":{"a":1.0},"inputResponses":{"name":{"action":"accept","n":1.0},"where":{"action":"accept","n":1.0}},"requestState":"s1"}`,
		`{"name":"x","arguments":{"a":1.0},"requestState":"s2"}`,
	} {
		if i >= len(params) || params[i] != want {
			t.Errorf("round %d: %q, want %s", i, params, want)
		}
		if levels[i] != "error" {
			t.Errorf("round %d: level %q", i, levels[i])
		}
	}
}

// lateInfo is a server of which nothing is known before the first call.
type lateInfo struct {
	*fake
	known atomic.Bool
}

func (l *lateInfo) Info() *upstream.Info {
	if !l.known.Load() {
		return nil
	}
	return l.info
}

// TestInputOfTheFirstCall: a call that waits until its server has been started
// is asked for like any other.
func TestInputOfTheFirstCall(t *testing.T) {
	l := &lateInfo{}
	l.fake = rounder(func(p gjson.Result) string {
		l.known.Store(true)
		if !p.Get("inputResponses").Exists() {
			return `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"who?"}}}}`
		}
		return `{"resultType":"complete","content":[]}`
	})
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: l}}})
	conn := clientOf(t, s, canElicit, clientOptions{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"action":"decline"}`), nil
	}})
	if got := ask(t, conn, "tools/call", `{"name":"x","arguments":{}}`); got != `{"resultType":"complete","content":[]}` {
		t.Errorf("the client gets %s", got)
	}
}

// TestInputIsBounded: a server that asks for ever costs one call.
func TestInputIsBounded(t *testing.T) {
	const one = `"a":{"method":"elicitation/create"}`
	for name, tt := range map[string]struct{ answer, want string }{
		"on and on":  {`{"resultType":"input_required","inputRequests":{` + one + `}}`, "asked for input 16 times"},
		"idle":       {`{"resultType":"input_required","requestState":"s"}`, "keeps asking for another try"},
		"at once":    {`{"resultType":"input_required","inputRequests":{` + strings.Repeat(one+",", 40) + one + `}}`, "asks for more than 32 inputs at once"},
		"cannot":     {`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`, "does not support roots/list"},
		"no request": {`{"resultType":"input_required","inputRequests":{"a":7}}`, "an input that is not a request"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := rounder(func(gjson.Result) string { return tt.answer })
				store := newStore(t)
				defer store.Close()
				s, err := New(Options{Store: store, Upstreams: []Upstream{{Name: "s", Conn: f}}})
				if err != nil {
					t.Fatal(err)
				}
				conn := clientOf(t, s, canElicit, clientOptions{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{"action":"decline"}`), nil
				}})
				if got := ask(t, conn, "tools/call", `{"name":"x","arguments":{}}`); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, tt.want) {
					t.Errorf("got %s", got)
				}
			})
		})
	}
}
