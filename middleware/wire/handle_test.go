package wire

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestReusedID: an id that comes again after its cancellation is the new
// request's, whenever the old handler returns, and can be cancelled again.
func TestReusedID(t *testing.T) {
	begun, ended, leave := make(chan string, 3), make(chan string, 3), make(chan bool)
	c, p := connect(t, Options{Handle: func(ctx context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
		begun <- method
		<-ctx.Done()
		if method == "first" {
			<-leave
		}
		ended <- method
		return nil, ctx.Err()
	}})
	p.say(t, `{"id":1,"method":"first"}`)
	<-begun
	p.say(t, `{"method":"notifications/cancelled","params":{"requestId":1}}`)
	p.say(t, `{"id":1,"method":"second"}`)
	<-begun
	close(leave)
	<-ended
	for {
		c.mu.Lock()
		n := c.backlog.requests
		c.mu.Unlock()
		if n == 1 {
			break
		}
		runtime.Gosched()
	}
	p.say(t, `{"method":"notifications/cancelled","params":{"requestId":1}}`)
	select {
	case got := <-ended:
		if got != "second" {
			t.Errorf("%s ended", got)
		}
	case <-time.After(5 * time.Second):
		t.Error("the second request of the id cannot be cancelled")
	}
}

// TestCancelledHandlersCount: a peer that cancels at once does not start more
// than others.
func TestCancelledHandlersCount(t *testing.T) {
	leave := make(chan bool)
	refused := make(chan error, 10)
	c, p := connect(t, Options{
		Junk:   func(_ []byte, err error) { refused <- err },
		Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) { <-leave; return nil, nil },
	})
	for range maxOpen + 1 {
		p.say(t, `{"id":1,"method":"m"}`)
		p.say(t, `{"method":"notifications/cancelled","params":{"requestId":1}}`)
	}
	if err := <-refused; !strings.Contains(err.Error(), "more than 1024 requests") {
		t.Error(err)
	}
	c.mu.Lock()
	if n := c.backlog.requests; n != maxOpen {
		t.Errorf("%d run", n)
	}
	c.mu.Unlock()
	close(leave)
}

// TestFaultsInCallbacks: a panic costs one message.
func TestFaultsInCallbacks(t *testing.T) {
	faults := make(chan error, 2)
	_, p := connect(t, Options{
		Fault:  func(err error) { faults <- err },
		Notify: func(string, json.RawMessage) bool { panic("in Notify") },
		Handle: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
			if method == "bad" {
				panic("in Handle")
			}
			return json.RawMessage(`{}`), nil
		},
	})
	p.say(t, `{"method":"x"}`)
	if err := <-faults; !strings.Contains(err.Error(), "in Notify") {
		t.Error(err)
	}
	p.say(t, `{"id":1,"method":"bad"}`)
	if got := p.hear(t); !strings.Contains(got, `"id":1,"error"`) || strings.Contains(got, "in Handle") {
		t.Error(got)
	}
	if err := <-faults; !strings.Contains(err.Error(), "in Handle") {
		t.Error(err)
	}
	p.say(t, `{"id":2,"method":"good"}`)
	if got := p.hear(t); !strings.Contains(got, `"id":2,"result":{}`) {
		t.Error(got)
	}
}

// TestErrorsAreAnswered: an error is an answer, even if its data cannot be sent.
func TestErrorsAreAnswered(t *testing.T) {
	_, p := connect(t, Options{Handle: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
		if method == "plain" {
			return nil, errors.New("no")
		}
		return nil, &jsonrpc.Error{Code: 7, Message: "m", Data: json.RawMessage("{")}
	}})
	for method, want := range map[string]string{"plain": `{"code":-32603,"message":"no"}`, "data": `{"code":7,"message":"m"}`} {
		p.say(t, `{"id":1,"method":"`+method+`"}`)
		if got := strings.TrimSpace(p.hear(t)); got != `{"jsonrpc":"2.0","id":1,"error":`+want+`}` {
			t.Errorf("%s: %s", method, got)
		}
	}
}
