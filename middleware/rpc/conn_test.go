package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestRefuse: a request without a method, which got no answer before, and valid JSON
// that is no message, which was called a parse error.
func TestRefuse(t *testing.T) {
	_, p := connect(t, ConnOptions{Server: true, Options: Options{MaxBytes: 2048}})
	tests := []struct{ line, want string }{
		{`hello`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON: expected an object at byte 0"}}`},
		{`{"jsonrpc":"2.0","id":{},"method":"x"}`, `"id":null`},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1500) + `","method":"x"}`, `"id":null`},
		{`{"jsonrpc":"2.0"}`, `"id":null,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":1}`, `"id":1,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":2,"method":""}`, `"id":2,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","method":7,"id":3}`, `"id":3,"error":{"code":-32600`},
		{`{"method":7}`, `"id":null,"error":{"code":-32600`},
		{`7`, `"id":null,"error":{"code":-32600`},
		{`[]`, `"id":null,"error":{"code":-32600`},
		{`[7]`, `"id":null,"error":{"code":-32600`},
		{`{`, `"id":null,"error":{"code":-32700`},
		{`{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 9000) + `","id":"last"}`, `"id":"last"`},
		{`{"jsonrpc":"2.0","id":6,"method":"` + strings.Repeat("x", 3000) + `"}`, `"id":6`},
	}
	for _, tt := range tests {
		p.say(t, tt.line)
		if got := p.hear(t); !strings.Contains(got, tt.want) || !strings.Contains(got, `"error"`) {
			t.Errorf("answer to %.40s: %s, want %s", tt.line, got, tt.want)
		}
	}
}

// TestOthersMessages: what is wrong with a message that is no answer fails no
// call that waits for one.
func TestOthersMessages(t *testing.T) {
	long, deep := strings.Repeat("x", 100<<10), strings.Repeat("[", 2000)+strings.Repeat("]", 2000)
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + long + `"}}`,
		`{"method":"notifications/message","jsonrpc":"2.0","params":{"data":"` + long + `"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":` + deep + `}}`,
		`{"jsonrpc":"2.0","params":{"data":` + deep + `},"method":"notifications/message"}`,
		`{"jsonrpc":"2.0","id":"rlm-1","method":"sampling/createMessage","params":{"data":"` + long + `"}}`,
		`{"jsonrpc":"2.0","id":"rlm-1","method":"m","params":` + deep + `}`,
		"{\"jsonrpc\":\"2.0\",\"id\":\"twice\",\"method\":\"m\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"twice\",\"method\":\"m\"}",
	} {
		c, p := connect(t, ConnOptions{Options: Options{MaxBytes: 64 << 10, Handle: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}})
		got := make(chan error, 1)
		go func() {
			_, err := c.Call(t.Context(), "m", nil, nil)
			got <- err
		}()
		p.hear(t)
		p.say(t, line)
		p.say(t, `{"jsonrpc":"2.0","id":"rlm-1","result":{}}`)
		select {
		case err := <-got:
			if err != nil {
				t.Errorf("after %.80s: %v", line, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("after %.80s: no answer", line)
		}
	}
}

// TestBatchGoesOn: what is wrong with a message of a batch fails that one.
func TestBatchGoesOn(t *testing.T) {
	c, p := connect(t, ConnOptions{})
	got := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), "m", nil, nil)
		got <- err
	}()
	p.hear(t)
	p.say(t, `[{"jsonrpc":"2.0"},{"method":7},3,{"jsonrpc":"2.0","id":"rlm-1","result":{}}]`)
	within(t, got)
}

// TestHandledBytes: requests that wait for their answers hold no more bytes than
// a message may have, and who sends more is told.
func TestHandledBytes(t *testing.T) {
	leave := make(chan bool)
	defer close(leave)
	c, p := connect(t, ConnOptions{Options: Options{MaxBytes: 1 << 20, Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		<-leave
		return json.RawMessage("{}"), nil
	}}})
	long := strings.Repeat("x", 400<<10)
	for i := range 3 {
		p.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":{"x":%q}}`, i, long))
	}
	told := make(chan error, 1)
	go func() {
		got, err := p.next()
		if err == nil && !bytes.Contains(got, []byte(`"id":2,"error"`)) {
			err = fmt.Errorf("it is told %s", got)
		}
		told <- err
	}()
	within(t, told)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.backlog.requests; n != 2 {
		t.Errorf("%d run", n)
	}
}

// TestPingsBlockNoAnswers: a peer that reads nothing for a while, and pings
// meanwhile, is read all the same.
func TestPingsBlockNoAnswers(t *testing.T) {
	c, p := connect(t, ConnOptions{Options: Options{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage("{}"), nil
	}}})
	got := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), "m", nil, nil)
		got <- err
	}()
	p.hear(t)
	go func() {
		for i := range 200 {
			_, _ = fmt.Fprintf(p.w, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
		}
		_, _ = io.WriteString(p.w, `{"jsonrpc":"2.0","id":"rlm-1","result":{}}`+"\n")
	}()
	within(t, got)
	if s := p.hear(t); !strings.HasSuffix(s, `"result":{}}`) {
		t.Error(s)
	}
}

// TestTryNotifyBytes: what waits for a peer that reads nothing is bounded, and what
// it reads makes room.
func TestTryNotifyBytes(t *testing.T) {
	c, p := connect(t, ConnOptions{})
	long, _ := json.Marshal(strings.Repeat("x", 700<<10))
	waiting := func() (n int) {
		for range len(c.w.queue) {
			out := <-c.w.queue
			n += len(out.m.Params)
			c.w.queue <- out
		}
		return n
	}
	for range 40 {
		c.TryNotify(t.Context(), "m", long)
	}
	if n := waiting(); n > maxTried+len(long)+100 {
		t.Errorf("%d bytes wait", n)
	}
	for range 3 { // the first one is being written
		p.hear(t)
	}
	c.TryNotify(t.Context(), "again", nil)
	for !strings.Contains(p.hear(t), "again") {
	}
	c.TryNotify(t.Context(), "m", append(append([]byte{'['}, bytes.Repeat([]byte("1,"), (4<<20))...), "1]"...)) // one may be longer
	if _, err := p.next(); err == nil {
		t.Error("the peer's limit is 1 MiB")
	}
}

// within is the error that comes soon.
func within(t *testing.T, got <-chan error) {
	t.Helper()
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("nothing comes")
	}
}

// FuzzLines: whatever a peer says, a call that waits comes to an end with the
// answer behind it, if not before.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		`{"id":"rlm-1"}`, `{"id":"rlm-1","error":{"code":"x"}}`, `[{"id":"rlm-1","result":1},{"id":1,"method":"m"}]`, `[[]]`, `{"id":{},"method":"m"}`,
		`{"method":"notifications/cancelled","params":{"requestId":1}}`, `{"id":null,"method":"ping"}`, `{"\u0069d":"rlm-1","\u006dethod":"ping"}`,
		`{"id":"rlm-1","id":2,"method":"m","method":"","result":{}}`, "[1,\n2]", strings.Repeat("[", 1200), `{"id":1.0,"method":"m"}`, `{"id":1,"method":"m","params":[1]}`,
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, line []byte, refuse bool) {
		opts := ConnOptions{Server: refuse, Options: Options{MaxBytes: 2048}, Junk: func([]byte, error) {}}
		opts.Handle = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			if len(params) > 0 && !json.Valid(params) {
				t.Errorf("%s is asked with %q", method, params)
			}
			return json.RawMessage("{}"), nil
		}
		c, p := connect(t, opts)
		got := make(chan error, 1)
		go func() {
			raw, err := c.Call(t.Context(), "m", nil, nil)
			if err == nil && !json.Valid(raw) {
				t.Errorf("the answer is %q", raw)
			}
			got <- nil
		}()
		p.hear(t)
		go func() {
			for {
				if line, err := p.next(); err != nil {
					return
				} else if !json.Valid(line) {
					t.Errorf("the peer is sent %q", line)
				}
			}
		}()
		_, _ = p.w.Write(append(line, '\n'))
		_, _ = io.WriteString(p.w, `{"jsonrpc":"2.0","id":"rlm-1","result":{}}`+"\n")
		within(t, got)
	})
}
