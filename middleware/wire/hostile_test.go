package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

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
		c, p := connect(t, Options{MaxLineBytes: 64 << 10, Handle: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		got := make(chan error, 1)
		go func() {
			_, err := c.Call(t.Context(), "m", nil)
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
	c, p := connect(t, Options{})
	got := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), "m", nil)
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
	c, p := connect(t, Options{MaxLineBytes: 1 << 20, Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		<-leave
		return json.RawMessage("{}"), nil
	}})
	long := strings.Repeat("x", 400<<10)
	for i := range 3 {
		p.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":{"x":%q}}`, i, long))
	}
	told := make(chan error, 1)
	go func() {
		got, err := p.next()
		if err == nil && !bytes.Contains(got, []byte(`"id":2,"jsonrpc"`)) {
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
	c, p := connect(t, Options{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil }})
	got := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), "m", nil)
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
	if s := p.hear(t); s != `{"jsonrpc":"2.0","id":0,"result":{}}` {
		t.Error(s)
	}
}

// TestTryNotifyBytes: what waits for a peer that reads nothing is bounded, and what
// it reads makes room.
func TestTryNotifyBytes(t *testing.T) {
	c, p := connect(t, Options{})
	long, _ := json.Marshal(strings.Repeat("x", 700<<10))
	waiting := func() (n int) {
		for range len(c.outgoing) {
			out := <-c.outgoing
			for _, part := range out.parts {
				n += len(part)
			}
			c.outgoing <- out
		}
		return n
	}
	for range 40 {
		c.TryNotify("m", long)
	}
	if n := waiting(); n > maxTried+len(long)+100 {
		t.Errorf("%d bytes wait", n)
	}
	for range 3 { // the first one is being written
		p.hear(t)
	}
	c.TryNotify("again", nil)
	for !strings.Contains(p.hear(t), "again") {
	}
	c.TryNotify("m", append(append([]byte{'['}, bytes.Repeat([]byte("1,"), (4<<20))...), "1]"...)) // one may be longer
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

// TestLinesAreTheirOwn: no line changes when blocks that were given back are
// written to by others.
func TestLinesAreTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(30<<10, 70<<10), rapid.IntRange(120<<10, 600<<10)), 1, 12).Draw(t, "sizes")
		var in bytes.Buffer
		for i, n := range sizes {
			in.Write(bytes.Repeat([]byte{'a' + byte(i%26)}, n))
			in.WriteByte('\n')
		}
		l := newLineReader(&pieces{t, in.Bytes()}, 1<<20)
		var lines [][]byte
		for range sizes {
			line, err := l.next()
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
			for class := range spare {
				if b, ok := spare[class].Get().(*[]byte); ok {
					for i := range (*b)[:cap(*b)] {
						(*b)[:cap(*b)][i] = 0
					}
					spare[class].Put(b)
				}
			}
		}
		for i, line := range lines {
			if !bytes.Equal(line, bytes.Repeat([]byte{'a' + byte(i%26)}, sizes[i])) {
				t.Fatalf("line %d of %d bytes has changed", i, sizes[i])
			}
		}
	})
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
		opts := Options{Refuse: refuse, MaxLineBytes: 2048, Junk: func([]byte, error) {}}
		if !refuse {
			opts.Handle = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
				if len(params) > 0 && !json.Valid(params) {
					t.Errorf("%s is asked with %q", method, params)
				}
				return json.RawMessage("{}"), nil
			}
		}
		c, p := connect(t, opts)
		go func() {
			for {
				if _, err := c.Read(t.Context()); err != nil {
					return
				}
			}
		}()
		got := make(chan error, 1)
		go func() {
			raw, err := c.Call(t.Context(), "m", nil)
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

// TestBriefErrors: what is wrong with a message is said briefly, whatever it holds.
func TestBriefErrors(t *testing.T) {
	digits := strings.Repeat("9", 10<<10)
	said := make(chan error, 1)
	_, p := connect(t, Options{Junk: func(_ []byte, err error) { said <- err }, Forward: func(string) bool { return true }})
	p.say(t, `{"jsonrpc":"2.0","id":`+digits+`,"method":"m"}`)
	select {
	case err := <-said:
		if len(err.Error()) > 2*maxErrorBytes {
			t.Errorf("%d bytes: %.100v", len(err.Error()), err)
		}
	case <-time.After(5 * time.Second):
		t.Error("it is taken")
	}
}
