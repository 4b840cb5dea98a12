package session

import (
	"context"
	"sync"

	"rlmproxy/middleware/queue"
)

// A gate holds back what servers ask and tell a client until it has said that it is
// initialized: some clients end when anything else comes before the answer to their
// handshake. Servers are connected by then, and have heard of their client from the
// proxy.
type gate struct {
	opened chan struct{} // closed when the client is initialized, or has gone

	mu      sync.Mutex // guards the fields below
	open    bool
	waiting []func()
	bytes   int // that they hold
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

// pass calls f, now or when the gate opens. f must not block; it holds on to size bytes
// until then. What comes on top of too much is lost.
func (g *gate) pass(size int, f func()) {
	g.mu.Lock()
	if !g.open {
		if len(g.waiting) < queue.MaxWaiting && g.bytes+size <= queue.MaxBytes {
			g.waiting = append(g.waiting, f)
			g.bytes += size
		}
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	f()
}

// isOpen reports whether the client is initialized.
func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// wait returns when the gate is open.
func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release opens the gate. What waits is passed in its order, before what comes later
// from whoever released it.
func (g *gate) release() {
	g.mu.Lock()
	if g.open {
		g.mu.Unlock()
		return
	}
	for len(g.waiting) > 0 {
		waiting := g.waiting
		g.waiting = nil
		g.mu.Unlock()
		for _, f := range waiting {
			f()
		}
		g.mu.Lock()
	}
	g.open = true
	close(g.opened)
	g.mu.Unlock()
}
