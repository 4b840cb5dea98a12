package upstream

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"rlmproxy/middleware/wire"
)

// TestAskedByNone: what cannot be answered is passed over, and a ping is.
func TestAskedByNone(t *testing.T) {
	replies := make(chan string, 10)
	a := asks{
		request: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			t.Error("asked")
			return nil, nil
		},
		reply: func(b []byte) { replies <- string(b) },
	}
	var wg sync.WaitGroup
	for _, id := range []string{"null", "{}", "[]", "true", `"` + strings.Repeat("x", maxFieldBytes) + `"`} {
		a.begin(t.Context(), &wg, wire.Message{ID: json.RawMessage(id), Method: "roots/list"})
	}
	a.begin(t.Context(), &wg, wire.Message{ID: json.RawMessage("-1"), Method: "ping"})
	wg.Wait()
	close(replies)
	for got := range replies {
		if got != `{"jsonrpc":"2.0","id":-1,"result":{}}` {
			t.Errorf("reply %s", got)
		}
	}
	if a.open != 0 || len(a.running) != 0 {
		t.Errorf("%d open, %d running", a.open, len(a.running))
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
		}, headers: new(paramHeaders)}
		l.asks = asks{
			request: func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
				if params == nil {
					params = json.RawMessage("{}")
				}
				return params, nil
			},
			reply: func(b []byte) {
				replies.Lock()
				defer replies.Unlock()
				if !json.Valid(b) {
					t.Errorf("reply %q", b)
				}
			},
		}
		in := &inbound{link: l, ctx: t.Context()}
		raw, done, err := in.data(data, `"a"`)
		in.wg.Wait()
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
	a := asks{
		request: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			<-leave
			return json.RawMessage("{}"), nil
		},
		reply:    func(b []byte) { replies <- string(b) },
		maxBytes: 1 << 20,
	}
	var wg sync.WaitGroup
	long := json.RawMessage(`{"x":"` + strings.Repeat("x", 400<<10) + `"}`)
	for _, id := range []string{"1", "2", "3"} {
		a.begin(t.Context(), &wg, wire.Message{ID: json.RawMessage(id), Method: "m", Params: long})
	}
	if got := receive(t, "the refusal", replies); !strings.Contains(got, `"id":3,"error"`) {
		t.Error(got)
	}
	close(leave)
	wg.Wait()
	if a.held != 0 || a.open != 0 {
		t.Errorf("%d bytes, %d requests are held", a.held, a.open)
	}
}
