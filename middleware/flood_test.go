package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"rlmproxy/middleware/queue"
	"rlmproxy/middleware/upstream"
)

// slow is a server that takes notifications one at a time, when it is let.
type slow struct {
	*fake
	let chan bool

	mu  sync.Mutex // guards the fields below
	got []string
}

func (f *slow) Notify(ctx context.Context, method string, params json.RawMessage) error {
	select {
	case <-f.let:
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, method+string(params))
	return nil
}

// TestFloods: a peer that tells without end takes neither goroutines nor memory
// without end, and what is passed on keeps its order.
func TestFloods(t *testing.T) {
	f := &slow{fake: offering(map[string]string{"resources/subscribe": "{}", "resources/unsubscribe": "{}"}), let: make(chan bool)}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn := clientOf(t, s, nil, clientOptions{Notify: func(string, json.RawMessage) {}})
	if got := ask(t, conn, "resources/subscribe", `{"uri":"a:b"}`); got != "{}" {
		t.Fatal(got)
	}
	before := runtime.NumGoroutine()
	const many = 2000
	for i := range many {
		if err := conn.Notify(t.Context(), "notifications/future", json.RawMessage(fmt.Sprint(`{"n":`, i, `}`))); err != nil {
			t.Fatal(err)
		}
		if err := conn.Notify(t.Context(), "notifications/roots/list_changed", nil); err != nil {
			t.Fatal(err)
		}
		s.Tell(context.Background(), "s", "notifications/resources/updated", json.RawMessage(`{"uri":"a:b"}`))
		s.Tell(context.Background(), "s", "notifications/resources/list_changed", nil)
		if i%20 == 0 {
			f.change()
		}
		s.ListsChanged("s")
	}
	ask(t, conn, "ping", `{}`)
	if n := runtime.NumGoroutine() - before; n > 20 {
		t.Errorf("%d more goroutines", n)
	}
	close(f.let)
	q := s.clients.Of("")[0].Outbox("s", s.logger)
	for {
		if last := q.Add("", 0, func(context.Context) {}); last != nil {
			<-last
			break
		}
		runtime.Gosched() // it is full
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.got) > queue.MaxWaiting+1 {
		t.Errorf("%d were kept for a server that did not listen", len(f.got))
	}
	roots := 0
	f.got = slices.DeleteFunc(f.got, func(m string) bool {
		if m == "notifications/roots/list_changed" {
			roots++
			return true
		}
		return false
	})
	for i, m := range f.got {
		if m != fmt.Sprintf(`notifications/future{"n":%d}`, i) {
			t.Fatalf("%d: %s", i, m)
		}
	}
	if roots == 0 || roots > 2 {
		t.Errorf("%d times that roots have changed", roots)
	}
}

// TestSubscriptionsEnd: also at a server that takes no notifications.
func TestSubscriptionsEnd(t *testing.T) {
	f := &slow{fake: offering(nil), let: make(chan bool)}
	ended := make(chan error, 1)
	f.answer = func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		if r.Method == "resources/unsubscribe" {
			ended <- ctx.Err()
		}
		return json.RawMessage(`{}`), nil
	}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	t.Run("client", func(t *testing.T) {
		conn := clientOf(t, s, nil, clientOptions{})
		if got := ask(t, conn, "resources/subscribe", `{"uri":"a:b"}`); got != "{}" {
			t.Fatal(got)
		}
		if err := conn.Notify(t.Context(), "notifications/future", nil); err != nil {
			t.Fatal(err)
		}
		ask(t, conn, "ping", `{}`)
	})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

var _ Caller = (*slow)(nil)
