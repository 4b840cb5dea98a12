package deferred

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/session"
)

// begin defers a request of an agent that ends when leave is closed, or it is cancelled.
func begin(l *List, agent string, size int, leave <-chan bool) (d *Request, state string) {
	r := &session.Request{Session: &session.Session{Agent: agent}, Method: "tools/call"}
	d = l.begin(context.Background(), r, "s", nil, func(ctx context.Context, d *Request) (json.RawMessage, error) {
		select {
		case <-leave:
			return make(json.RawMessage, size), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	state, err := l.add(d)
	if err != nil {
		panic(err)
	}
	return d, state
}

// TestManyAgents: whoever comes under many names keeps nobody out: the oldest ends.
func TestManyAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewList(guard.NewAccounts(1<<30, 1<<30), nil)
		first, _ := begin(l, "0", 0, nil)
		for i := range maxAll {
			begin(l, fmt.Sprint(i+1), 0, nil)
		}
		<-first.done
		if first.err == nil || l.Len() != maxAll {
			t.Errorf("%v, %d wait", first.err, l.Len())
		}
		for i := range maxAll + 1 {
			l.Forget(t.Context(), fmt.Sprint(i))
		}
	})
}

// TestResultsAreBounded: of results whose clients do not come back for them, only so
// much is kept as fits.
func TestResultsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewList(guard.NewAccounts(1<<30, 1<<30), nil)
		leave := make(chan bool)
		begin(l, "ann", 0, leave)
		for range 5 {
			begin(l, "ann", 20<<20, leave)
		}
		close(leave) // all end, in whichever order
		synctest.Wait()
		if n := l.Len(); n != 4 {
			t.Errorf("%d wait, want the one without a result and three", n)
		}
		if l.bytes != 60<<20 {
			t.Errorf("%d bytes are kept", l.bytes)
		}
		l.Forget(t.Context(), "ann")
		if l.Len() != 0 || l.bytes != 0 {
			t.Errorf("%d wait, %d bytes are left", l.Len(), l.bytes)
		}
	})
}
