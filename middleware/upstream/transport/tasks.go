package transport

import (
	"context"
	"sync"
	"time"
)

// tryWait bounds what is sent to a server that nobody waits for any more.
const tryWait = 2 * time.Second

// Tasks are the goroutines of a connection. The zero value is ready to use.
type Tasks struct {
	mu    sync.Mutex // guards the fields below
	ended bool       // nothing is added to wg any more
	wg    sync.WaitGroup
}

// Go runs f in a goroutine that Wait waits for, and reports false if Wait has been
// called.
func (t *Tasks) Go(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.wg.Go(f)
	}
	return !t.ended
}

// Wait waits for what runs, and lets nothing more begin. It may be called more than
// once.
func (t *Tasks) Wait() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.wg.Wait()
}

// try sends what nobody waits for.
func (t *Tasks) try(life context.Context, send func(ctx context.Context) error) {
	t.Go(func() {
		ctx, cancel := context.WithTimeout(life, tryWait)
		defer cancel()
		_ = send(ctx) // nobody waits for that either
	})
}

// Sleep returns after d, or with the cause of ctx's end.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
