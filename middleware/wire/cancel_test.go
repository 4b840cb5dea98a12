package wire

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestCancelledUnanswered: what the SDK answers to a cancelled request is not
// sent, a result as little as an error; initialize cannot be cancelled, and the id
// is free for another.
func TestCancelledUnanswered(t *testing.T) {
	c, p := connect(t, Options{})
	read := func() *jsonrpc.Request {
		msg, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return msg.(*jsonrpc.Request)
	}
	written := make(chan error, 1)
	answer := func(req *jsonrpc.Request, result string) {
		go func() {
			written <- c.Write(context.Background(), &jsonrpc.Response{ID: req.ID, Result: json.RawMessage(result)})
		}()
	}
	for _, id := range []string{"1", `"a"`} {
		for _, method := range []string{"tools/call", "initialize"} {
			p.say(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`"}`)
			req := read()
			p.say(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`)
			if method == "tools/call" {
				if got := read().Method; got != "notifications/cancelled" {
					t.Fatal(got)
				}
				if err := c.Write(t.Context(), &jsonrpc.Response{ID: req.ID, Result: json.RawMessage(`{"a":1}`)}); err != nil {
					t.Fatal(err)
				}
				p.say(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/list"}`)
				req = read()
			} else {
				p.say(t, `{"jsonrpc":"2.0","method":"notifications/progress"}`)
				if got := read().Method; got != "notifications/progress" {
					t.Fatalf("%s: initialize is cancelled", got)
				}
			}
			answer(req, `{"b":2}`)
			if got := p.hear(t); !strings.Contains(got, `"b":2`) || !strings.Contains(got, `"id":`+id) {
				t.Error(got)
			}
			if err := <-written; err != nil {
				t.Error(err)
			}
		}
	}
	if len(c.asked) != 0 || !c.backlog.Empty() {
		t.Errorf("%d requests are kept, and count: %+v", len(c.asked), c.backlog)
	}
}
