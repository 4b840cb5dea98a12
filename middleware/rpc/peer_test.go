package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/guard"
)

// peer is the far end of a Conn under test.
type peer struct {
	*lineReader
	w io.WriteCloser
}

func (p peer) say(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.w, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (p peer) hear(t *testing.T) string {
	t.Helper()
	line, err := p.next()
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

func connect(t *testing.T, opts ConnOptions) (*Conn, peer) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	c := NewConn(r1, w2, opts)
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
	})
	return c, peer{newLineReader(r2, 1<<20), w1}
}

func TestCallIsRaw(t *testing.T) {
	var junk []string
	c, p := connect(t, ConnOptions{Junk: func(line []byte, _ error) { junk = append(junk, string(line)) }})
	result := `{"z":1,"a":1.0,"n":9007199254740993,"u":"é\u00e9","future":[{"x":null}]}`
	type reply struct {
		raw json.RawMessage
		err error
	}
	replies := make(chan reply)
	go func() {
		raw, err := c.Call(t.Context(), "tools/call", json.RawMessage(`{"big":123456789012345678901}`), nil)
		replies <- reply{raw, err}
	}()
	if got, want := p.hear(t), `{"jsonrpc":"2.0","id":"rlm-1","method":"tools/call","params":{"big":123456789012345678901}}`; got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	p.say(t, "Server started on stdio")
	p.say(t, `{"level":"info"}`)
	p.say(t, `{"result":`+result+`,"jsonrpc":"2.0","id":"rlm-1"}`)
	got := <-replies
	if got.err != nil || string(got.raw) != result {
		t.Errorf("Call = %s, %v, want the bytes sent", got.raw, got.err)
	}
	if want := []string{"Server started on stdio", `{"level":"info"}`}; !cmp.Equal(junk, want) {
		t.Errorf("junk %q, want %q", junk, want)
	}
}

func TestCallErrors(t *testing.T) {
	tests := []struct {
		name, answer, want string
	}{
		{"error object", `{"id":"rlm-1","error":{"code":-32602,"message":"no","data":{"n":9007199254740993}}}`, "no"},
		{"neither", `{"id":"rlm-1"}`, "neither result nor error"},
		{"oversized, id last", `{"result":"` + strings.Repeat("x", 5000) + `","id":"rlm-1"}`, "over the limit"},
		{"oversized, no id", `{"result":"` + strings.Repeat("x", 5000), "over the limit"},
		{"too deep", `{"id":"rlm-1","result":` + strings.Repeat("[", 1900) + strings.Repeat("]", 1900) + `}`, "nested deeper"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, p := connect(t, ConnOptions{Options: Options{MaxBytes: 4500}})
			errs := make(chan error)
			go func() { _, err := c.Call(t.Context(), "m", nil, nil); errs <- err }()
			p.hear(t)
			p.say(t, tt.answer)
			if err := <-errs; err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Call: %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCallCancelled(t *testing.T) {
	c, p := connect(t, ConnOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	go func() { _, err := c.Call(ctx, "m", nil, nil); errs <- err }()
	p.hear(t)
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("Call: %v, want context.Canceled", err)
	}
	if got := p.hear(t); !strings.Contains(got, `"method":"notifications/cancelled","params":{"requestId":"rlm-1"`) {
		t.Errorf("sent %s, want notifications/cancelled", got)
	}
	p.say(t, `{"id":"rlm-1","result":{}}`) // too late, dropped
	p.w.Close()
	<-c.Done()
	if _, err := c.Call(t.Context(), "m", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Call after the end: %v, want ErrClosed", err)
	}
}

func TestCallFailsWhenPeerEnds(t *testing.T) {
	c, p := connect(t, ConnOptions{})
	errs := make(chan error)
	go func() { _, err := c.Call(t.Context(), "m", nil, nil); errs <- err }()
	p.hear(t)
	p.w.Close()
	if err := <-errs; !errors.Is(err, ErrClosed) {
		t.Errorf("Call: %v, want ErrClosed", err)
	}
}

// TestReusedID: an id that comes again after its cancellation is the new
// request's, whenever the old handler returns, and can be cancelled again.
func TestReusedID(t *testing.T) {
	begun, ended, leave := make(chan string, 3), make(chan string, 3), make(chan bool)
	c, p := connect(t, ConnOptions{Options: Options{Handle: func(ctx context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
		begun <- method
		<-ctx.Done()
		if method == "first" {
			<-leave
		}
		ended <- method
		return nil, ctx.Err()
	}}})
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
	c, p := connect(t, ConnOptions{
		Junk:    func(_ []byte, err error) { refused <- err },
		Options: Options{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) { <-leave; return nil, nil }},
	})
	for range 1025 {
		p.say(t, `{"id":1,"method":"m"}`)
		p.say(t, `{"method":"notifications/cancelled","params":{"requestId":1}}`)
	}
	if err := <-refused; !strings.Contains(err.Error(), "more than 1024 requests") {
		t.Error(err)
	}
	c.mu.Lock()
	if n := c.backlog.requests; n != 1024 {
		t.Errorf("%d run", n)
	}
	c.mu.Unlock()
	close(leave)
}

// TestFaultsInCallbacks: a panic costs one message.
func TestFaultsInCallbacks(t *testing.T) {
	faults := make(chan error, 2)
	c, p := connect(t, ConnOptions{Options: Options{
		Fault:    func(err error) { faults <- err },
		Notified: func(context.Context, string, json.RawMessage) { panic("in Notified") },
		Handle: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
			if method == "bad" {
				panic("in Handle")
			}
			return json.RawMessage(`{}`), nil
		},
	}})
	p.say(t, `{"method":"x"}`)
	if err := <-faults; !strings.Contains(err.Error(), "in Notified") {
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
	got := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), "m", nil, func(json.RawMessage) { panic("in progress") })
		got <- err
	}()
	p.hear(t)
	p.say(t, `{"method":"notifications/progress","params":{"progressToken":"rlm-1"}}`)
	if err := <-faults; !strings.Contains(err.Error(), "in progress") {
		t.Error(err)
	}
	p.say(t, `{"id":"rlm-1","result":{}}`)
	within(t, got)
}

// TestNothingBeginsAfterEnd: a client that takes no answers any more may go on to send
// requests. One that began while others were waited for could end the process: a
// WaitGroup does not take that.
func TestNothingBeginsAfterEnd(t *testing.T) {
	p := NewPeer(newLineWriter(make(lineCount, 10), func() {}), Options{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		t.Error("it was begun")
		return nil, nil
	}})
	p.End()
	if err := p.Receive(t.Context(), Message{ID: json.RawMessage("1"), Method: "m"}); !errors.Is(err, ErrClosed) {
		t.Errorf("Receive: %v", err)
	}
	p.Close()
}

// TestErrorsAreAnswered: an error is an answer, even if its data cannot be sent.
func TestErrorsAreAnswered(t *testing.T) {
	_, p := connect(t, ConnOptions{Options: Options{Handle: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
		if method == "plain" {
			return nil, errors.New("no")
		}
		return nil, &jsonrpc.Error{Code: 7, Message: "m", Data: json.RawMessage("{")}
	}}})
	for method, want := range map[string]string{"plain": `{"code":-32603,"message":"no"}`, "data": `{"code":7,"message":"m"}`} {
		p.say(t, `{"id":1,"method":"`+method+`"}`)
		if got := strings.TrimSpace(p.hear(t)); got != `{"jsonrpc":"2.0","id":1,"error":`+want+`}` {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// TestAnswersWaitForTheirTurn: while one call works on its answer, the next
// answer is not handed on, and a call that gives up frees the way.
func TestAnswersWaitForTheirTurn(t *testing.T) {
	r, w := io.Pipe()
	sent := make(lineCount, 10)
	conn := NewConn(r, sent, ConnOptions{})
	defer conn.Close()
	b := guard.NewBudget(2*(1<<20), nil)
	first, second := b.Hold("a"), b.Hold("a")
	defer first.Release()
	defer second.Release()
	go func() {
		long := `"` + strings.Repeat("x", 3*(1<<20)/2) + `"`
		<-sent
		io.WriteString(w, `{"id":"rlm-1","result":`+long+"}\n")
		<-sent
		io.WriteString(w, `{"id":"rlm-2","result":`+long+"}\n")
		<-sent // that nobody waits for the second
		<-sent
		io.WriteString(w, `{"id":"rlm-3","result":3}`+"\n")
	}()
	if _, err := conn.Call(guard.WithHold(t.Context(), first), "x", nil, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(guard.WithHold(t.Context(), second), 20*time.Millisecond)
	defer cancel()
	if _, err := conn.Call(ctx, "x", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second: %v", err)
	}
	if raw, err := conn.Call(t.Context(), "x", nil, nil); string(raw) != "3" {
		t.Errorf("the third: %s, %v", raw, err)
	}
}

// A lineCount has one element for each line that was written.
type lineCount chan struct{}

func (c lineCount) Write(p []byte) (int, error) {
	c <- struct{}{}
	return len(p), nil
}
func (lineCount) Close() error { return nil }
