package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/transport"
)

// A fakeConn answers as the test says.
type fakeConn struct {
	call func(method string) (string, error)
	end  sync.Once
	done chan struct{}
}

func (c *fakeConn) Call(_ context.Context, method string, _ json.RawMessage, _ func(json.RawMessage)) (json.RawMessage, error) {
	s, err := c.call(method)
	return json.RawMessage(s), err
}
func (c *fakeConn) Notify(context.Context, string, json.RawMessage) error { return nil }
func (c *fakeConn) Done() <-chan struct{}                                 { return c.done }
func (c *fakeConn) Exit() string                                          { return "" }
func (c *fakeConn) Close()                                                { c.end.Do(func() { close(c.done) }) }

// fake returns a session whose server answers as call says.
func fake(call func(method string) (string, error)) *session {
	s := newSession(hooks{})
	s.conn = &fakeConn{call: call, done: make(chan struct{})}
	s.info = &Info{Capabilities: &mcp.ServerCapabilities{Prompts: &mcp.PromptCapabilities{}}}
	return s
}

// TestListsStay: a list that cannot be read again stays as it was.
func TestListsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tools, prompts atomic.Value // of error
		none := errors.New("")
		tools.Store(none)
		prompts.Store(none)
		var n atomic.Int64
		l := fake(func(method string) (string, error) {
			if method == "tools/list" {
				if err := tools.Load().(error); err != none {
					return "", err
				}
				return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]}`, n.Load()), nil
			}
			if err := prompts.Load().(error); err != none {
				return "", err
			}
			return fmt.Sprintf(`{"prompts":[{"name":"p%d"}]}`, n.Load()), nil
		})
		stale := make(chan func(), 1)
		u := New(Options{Dial: func(_ context.Context, h hooks) (*session, error) { stale <- h.listChanged; return l, nil }})
		defer u.Close()
		changed := <-stale
		broken := errors.New("broken")
		for i, step := range []struct {
			tools, prompts error
			want           string
		}{
			{none, none, "t1 p1"},
			{none, broken, "t2 p1"},
			{broken, none, "t2 p1"},
			{none, none, "t4 p4"},
		} {
			n.Store(int64(i + 1))
			tools.Store(step.tools)
			prompts.Store(step.prompts)
			synctest.Wait()
			changed()
			time.Sleep(2 * listPause)
			if got := u.Tools()[0].Name + " " + u.Prompts()[0].Name; got != step.want {
				t.Errorf("step %d: %s, want %s", i, got, step.want)
			}
		}
	})
}

// TestListsOnceABurst: a server that tells of a hundred changes has its list
// read once, and one that never stops less and less often.
func TestListsOnceABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		l := fake(func(method string) (string, error) {
			if method == "tools/list" {
				lists.Add(1)
				return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]}`, lists.Load()), nil
			}
			return `{"prompts":[]}`, nil
		})
		stale := make(chan func(), 1)
		var told atomic.Int64
		u := New(Options{
			Dial:    func(_ context.Context, h hooks) (*session, error) { stale <- h.listChanged; return l, nil },
			Changed: func() { told.Add(1) },
		})
		defer u.Close()
		changed := <-stale
		synctest.Wait()
		for range 100 {
			changed()
			time.Sleep(settleTime / 200)
		}
		time.Sleep(settleTime)
		synctest.Wait()
		if lists.Load() != 2 || told.Load() != 2 {
			t.Errorf("%d lists, told of %d", lists.Load(), told.Load())
		}
		time.Sleep(listPause)
		before := lists.Load()
		for range 6000 { // ten minutes
			changed()
			time.Sleep(100 * time.Millisecond)
		}
		if n := lists.Load() - before; n < 20 || n > 32 {
			t.Errorf("%d lists in ten minutes", n)
		}
		time.Sleep(3 * maxListPause)
		before = lists.Load()
		changed()
		time.Sleep(listPause)
		if lists.Load() != before+1 {
			t.Error("a change after a while is not seen soon")
		}
	})
}

// TestCallsAgainOnce: a call that was not taken waits for the next link.
func TestCallsAgainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, dials atomic.Int64
		refuse := int64(1)
		u := New(Options{MinBackoff: time.Nanosecond, Dial: func(ctx context.Context, _ hooks) (*session, error) {
			dials.Add(1)
			if err := transport.Sleep(ctx, time.Second); err != nil {
				return nil, err
			}
			var l *session
			l = fake(func(method string) (string, error) {
				if method != "tools/call" {
					return `{}`, nil
				}
				if calls.Add(1) <= refuse {
					l.conn.Close()
					return "", rpc.ErrNotSent
				}
				return `{"ok":1}`, nil
			})
			return l, nil
		}})
		defer u.Close()
		time.Sleep(2 * time.Second)
		if got, err := u.Call(t.Context(), Request{Method: "tools/call"}); err != nil || string(got) != `{"ok":1}` || calls.Load() != 2 || dials.Load() != 2 {
			t.Errorf("%s, %v, %d calls, %d dials", got, err, calls.Load(), dials.Load())
		}
		time.Sleep(2 * time.Second)
		calls.Store(0)
		refuse = 2
		_, err := u.Call(t.Context(), Request{Method: "tools/call"})
		var down *UnavailableError
		if !errors.As(err, &down) || down.Lost || calls.Load() != 2 {
			t.Errorf("%v, %d calls", err, calls.Load())
		}
	})
}

// TestListsAreBounded: what a server offers holds no more than its bounds, and
// fills no log.
func TestListsAreBounded(t *testing.T) {
	tool := func(name string, bytes int) string {
		return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, strings.Repeat("x", bytes))
	}
	many := make([]string, 20_000)
	for i := range many {
		many[i] = tool(fmt.Sprint("t", i), 1)
	}
	large := make([]string, 50)
	for i := range large {
		large[i] = tool(fmt.Sprint("t", i), 100<<10)
	}
	for _, tt := range []struct {
		what, tools string
		want, left  int
		why         string // in the log, with the names
	}{
		{"many", strings.Join(many, ","), maxTools, 18_000, `names="[t2000 t2001 `},
		{"many", strings.Join(many, ","), maxTools, 18_000, `error="more than 2000"`},
		{"large", strings.Join(large, ","), 40, 10, `names="[t40 t41 t42 t43 t44 t45 t46 t47 t48 t49]" error="more than 4194304 bytes of definitions"`},
		{"a long description", tool("long", 200_000) + "," + tool("t", 10), 1, 1, `number=1 names=[long] error="a definition of more than 131072 bytes"`},
		{"long annotations", `{"name":"long","annotations":{"title":"` + strings.Repeat("x", 200_000) + `"},"inputSchema":{"type":"object"}},` + tool("t", 120_000), 1, 1, "names=[long]"},
		{"a long name", `{"name":"` + strings.Repeat("n", 1<<20) + `"},{"name":"t","inputSchema":{"type":"object"}}`, 1, 1, "left out"},
		{"no tools", strings.Repeat("7,", 100_000) + "7", 0, 100_001, `error="no name"`},
	} {
		var log lockedBuffer
		l := fake(func(method string) (string, error) {
			if method == "tools/list" {
				return `{"tools":[` + tt.tools + `]}`, nil
			}
			return `{"prompts":[]}`, nil
		})
		u := New(Options{Dial: func(context.Context, hooks) (*session, error) { return l, nil }, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		u.Settled(t.Context())
		if got := len(u.Tools()); got != tt.want {
			t.Errorf("%s: %d tools, want %d", tt.what, got, tt.want)
		}
		if left := u.LeftOut(); left.N != tt.left || len(left.Names) != min(tt.left, maxLeftOut) || !strings.Contains(log.String(), tt.why) {
			t.Errorf("%s: %+v:\n%s", tt.what, left, log.String())
		}
		u.Close()
		if n := len(log.String()); n > 8<<10 {
			t.Errorf("%s: %d bytes in the log", tt.what, n)
		}
	}
}

// TestListsOfManyPages: a server whose list never ends offers what it told so far.
func TestListsOfManyPages(t *testing.T) {
	for what, next := range map[string]func(n int64) string{
		"the same": func(int64) string { return "a" },
		"another":  func(n int64) string { return fmt.Sprint(n) },
	} {
		var n atomic.Int64
		l := fake(func(method string) (string, error) {
			if method == "tools/list" {
				i := n.Add(1)
				return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":%q}`, i, next(i)), nil
			}
			return `{"prompts":[]}`, nil
		})
		u := New(Options{Dial: func(context.Context, hooks) (*session, error) { return l, nil }})
		u.Settled(t.Context())
		if state, err := u.State(); state != Ready || len(u.Tools()) == 0 || n.Load() > maxPages {
			t.Errorf("%s cursor: %v, %v, %d tools of %d pages", what, state, err, len(u.Tools()), n.Load())
		}
		u.Close()
	}
}

// TestListsHaveNothingOfOurs: a definition cannot have the members of _meta that only the
// proxy sends; all else keeps its bytes.
func TestListsHaveNothingOfOurs(t *testing.T) {
	l := fake(func(method string) (string, error) {
		if method == "tools/list" {
			return `{"tools":[{"name":"t","inputSchema":{"type":"object"},"_meta":{"rlmproxy/result":{},"k":1.0}}]}`, nil
		}
		return `{"prompts":[{"name":"p","_meta":{"rlmproxy/x":1},"n":1.0}]}`, nil
	})
	u := New(Options{Dial: func(context.Context, hooks) (*session, error) { return l, nil }})
	defer u.Close()
	u.Settled(t.Context())
	if got, want := string(u.Tools()[0].Raw), `{"name":"t","inputSchema":{"type":"object"},"_meta":{"k":1.0}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := string(u.Prompts()[0].Raw), `{"name":"p","_meta":{},"n":1.0}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
