package middleware

import (
	"context"
	"sync"
)

// An opening holds back what servers ask and tell a client until it has said that
// it is initialized: some clients end when anything else comes before the answer to
// their handshake. Servers are connected by then, and have heard of their client
// from the proxy. A nil opening holds nothing back.
type opening struct {
	came chan struct{} // closed when the client has come, or gone

	mu      sync.Mutex // guards the fields below
	open    bool
	waiting []func()
	bytes   int // that they hold
}

func newOpening() *opening { return &opening{came: make(chan struct{})} }

// do calls f, at once or when the client has come. Then f must not block; it holds
// on to size bytes until then. What comes on top of too much is lost.
func (o *opening) do(size int, f func()) {
	if o == nil {
		f()
		return
	}
	o.mu.Lock()
	if !o.open {
		defer o.mu.Unlock()
		if len(o.waiting) < maxQueued && o.bytes+size <= maxQueuedBytes {
			o.waiting = append(o.waiting, f)
			o.bytes += size
		}
		return
	}
	o.mu.Unlock()
	f()
}

// holds reports whether the client has not come yet.
func (o *opening) holds() bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.open
}

// wait returns when the client has come, or gone.
func (o *opening) wait(ctx context.Context) error {
	if o == nil {
		return nil
	}
	select {
	case <-o.came:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end lets through what waits and all that follows.
func (o *opening) end() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		return
	}
	o.open = true
	close(o.came)
	for _, f := range o.waiting {
		f()
	}
	o.waiting = nil
}
