package session

import (
	"context"
	"slices"
	"sync"
	"testing"

	"rlmproxy/middleware/rpc"
)

// A tape keeps the methods of what a client is told, and calls then for each first.
type tape struct {
	mu      sync.Mutex
	methods []string
	then    func(method string)
}

func (t *tape) Send(ctx context.Context, m rpc.Message) error { t.Try(ctx, m); return nil }

func (t *tape) Try(_ context.Context, m rpc.Message) {
	t.then(m.Method)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.methods = append(t.methods, m.Method)
}

// TestNothingIsMissedAtTheBegin: a list that changes while the client is told what it
// hears of is told behind that.
func TestNothingIsMissedAtTheBegin(t *testing.T) {
	var s *Session
	var changed sync.WaitGroup
	out := &tape{then: func(method string) {
		if method != "notifications/subscriptions/acknowledged" {
			return
		}
		s.mu.Lock()
		listens := len(s.listeners)
		s.mu.Unlock()
		if listens != 1 {
			t.Errorf("%d listeners at the first message", listens)
		}
		changed.Go(func() { s.ListChanged(Resources) })
	}}
	s = New(Options{}, rpc.Options{}, func(o rpc.Options) *rpc.Peer { return rpc.NewPeer(out, o) })
	s.gate.release()
	l := s.NewListener(&Request{Session: s, about: t.Context()})
	l.Listen([]byte("{}"), []List{Resources})
	changed.Wait()
	want := []string{"notifications/subscriptions/acknowledged", "notifications/resources/list_changed"}
	if !slices.Equal(out.methods, want) {
		t.Errorf("told %q, want %q", out.methods, want)
	}
}
