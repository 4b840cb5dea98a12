package upstream

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"rlmproxy/middleware/wire"
)

// TestAskedByNone: what cannot be answered is passed over, and a ping is.
func TestAskedByNone(t *testing.T) {
	replies := make(chan string, 10)
	a := newAsks(hooks{
		request: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			t.Error("asked")
			return nil, nil
		},
	}, func(b []byte) { replies <- string(b) })
	for _, id := range []string{"null", "{}", "[]", "true", `"` + strings.Repeat("x", maxFieldBytes) + `"`} {
		a.begin(t.Context(), wire.Message{ID: json.RawMessage(id), Method: "roots/list"})
	}
	a.begin(t.Context(), wire.Message{ID: json.RawMessage("-1"), Method: "ping"})
	a.tasks.end()
	close(replies)
	for got := range replies {
		if got != `{"jsonrpc":"2.0","id":-1,"result":{}}` {
			t.Errorf("reply %s", got)
		}
	}
	if !a.backlog.Empty() || len(a.running) != 0 {
		t.Errorf("%+v wait, %d running", a.backlog, len(a.running))
	}
}

// FuzzInbound: no message takes the proxy down, and an answer to a call is JSON.
func FuzzInbound(f *testing.F) {
	for _, s := range []string{`{"id":"a","result":{}}`, `[{"id":1,"method":"x"},{"id":"a","error":{"code":1}}]`, `{"method":"notifications/cancelled","params":[1]}`, ` [null]`, `{"id":null,"error":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var replies sync.Mutex
		l := &httpLink{hooks: hooks{
			logger:      slog.New(slog.DiscardHandler),
			progress:    func(json.RawMessage) {},
			listChanged: func() {},
			notify:      func(context.Context, string, json.RawMessage) {},
			request: func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
				if params == nil {
					params = json.RawMessage("{}")
				}
				return params, nil
			},
		}, headers: new(paramHeaders)}
		l.asks = newAsks(l.hooks, func(b []byte) {
			replies.Lock()
			defer replies.Unlock()
			if !json.Valid(b) {
				t.Errorf("reply %q", b)
			}
		})
		in := &inbound{link: l, ctx: t.Context()}
		raw, done, err := in.data(data, `"a"`)
		l.asks.tasks.end()
		if done && err == nil && !json.Valid(raw) || !done && (raw != nil || err != nil) {
			t.Errorf("%q: %q, %v, %v", data, raw, done, err)
		}
		l.headers.learn(data)
	})
}

// TestAsksBytes: requests that wait for their answers hold no more bytes than a
// message may have, and what was held is free again.
func TestAsksBytes(t *testing.T) {
	leave := make(chan bool)
	replies := make(chan string, 3)
	a := newAsks(hooks{
		request: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			<-leave
			return json.RawMessage("{}"), nil
		},
		maxLineBytes: 1 << 20,
	}, func(b []byte) { replies <- string(b) })
	long := json.RawMessage(`{"x":"` + strings.Repeat("x", 400<<10) + `"}`)
	for _, id := range []string{"1", "2", "3"} {
		a.begin(t.Context(), wire.Message{ID: json.RawMessage(id), Method: "m", Params: long})
	}
	if got := receive(t, "the refusal", replies); !strings.Contains(got, `"id":3,"error"`) {
		t.Error(got)
	}
	close(leave)
	a.tasks.end()
	if !a.backlog.Empty() {
		t.Errorf("%+v are held", a.backlog)
	}
}

// TestStalledAnswers: a server that takes no answers holds up neither the call that
// it asks about nor its stream.
func TestStalledAnswers(t *testing.T) {
	s := newRawServer(t)
	leave := make(chan bool)
	defer close(leave)
	asked := 0
	s.first = func(w http.ResponseWriter, r *http.Request, m rawMessage) bool {
		if r.Method == http.MethodPost && m.Method == "" {
			<-leave
		}
		return r.Method == http.MethodPost && m.Method == ""
	}
	s.tool = func(w http.ResponseWriter, _ *http.Request, m rawMessage) {
		send := stream(w)
		for i := range asked {
			send("data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\"}\n\n", i, []string{"ping", "roots/list"}[min(i, 1)])
		}
		send("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", m.ID)
	}
	u := s.connect(Options{Request: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	for _, asked = range []int{1, maxAsks + 20} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if _, err := u.Call(ctx, toolCall("x", "{}")); err != nil {
			t.Errorf("with %d requests: %v", asked, err)
		}
		cancel()
	}
}
