package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/middleware/wire"
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
	conn := clientOf(t, s, nil, wire.Options{Notify: func(string, json.RawMessage) bool { return true }})
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
		s.ListsChanged("s")
	}
	ask(t, conn, "ping", `{}`)
	if n := runtime.NumGoroutine() - before; n > 20 {
		t.Errorf("%d more goroutines", n)
	}
	close(f.let)
	var last int
	for range 500 {
		f.mu.Lock()
		n := len(f.got)
		f.mu.Unlock()
		if n > 0 && n == last {
			break
		}
		last = n
		time.Sleep(10 * time.Millisecond)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.got) > maxQueued+1 {
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

// TestQueueEnds: what waits is done when the queue is closed, and what does not
// end is cancelled.
func TestQueueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(slog.New(slog.DiscardHandler))
		done := 0
		for range 3 {
			q.add("", 1, func(context.Context) { time.Sleep(time.Second); done++ })
		}
		q.add("", 1, func(context.Context) { panic("a fault") })
		q.add("", 1, func(ctx context.Context) { <-ctx.Done(); done++ })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		q.close(ctx)
		if took := time.Since(begun); done != 4 || took != time.Minute {
			t.Errorf("%d done, %v", done, took)
		}
		if q.add("", 1, func(context.Context) { t.Error("done after the end") }) != nil {
			t.Error("a closed queue takes more")
		}
		q.close(ctx)
	})
}

// TestQueueIsBounded: in number and bytes; a long one alone has its turn.
func TestQueueIsBounded(t *testing.T) {
	q := newQueue(slog.New(slog.DiscardHandler))
	hold := make(chan bool)
	<-func() chan bool {
		begun := make(chan bool)
		q.add("", 0, func(context.Context) { close(begun); <-hold })
		return begun
	}()
	if q.add("", 2*maxQueuedBytes, func(context.Context) {}) == nil {
		t.Error("a long one does not wait alone")
	}
	if q.add("", 1, func(context.Context) {}) != nil {
		t.Error("bytes are not counted")
	}
	n := 0
	for range 2 * maxQueued {
		if q.add("", 0, func(context.Context) {}) != nil {
			n++
		}
	}
	if n != 0 {
		t.Errorf("%d more behind too many bytes", n)
	}
	close(hold)
	q.close(t.Context())
}

var _ Caller = (*slow)(nil)
