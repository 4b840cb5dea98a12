// Package queue does things for one peer, one after the other and in their order.
package queue

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// Bounds on what waits in one queue. A peer that tells faster than another
// listens loses the rest.
const (
	MaxWaiting = 256
	MaxBytes   = 4 << 20 // one task may be longer than that
)

// A Queue works in a goroutine that is there while any task waits.
type Queue struct {
	logger *slog.Logger // says whose it is
	ctx    context.Context
	cancel func()

	mu      sync.Mutex // guards the fields below
	waiting []task
	bytes   int64         // of waiting
	working chan struct{} // closed when the goroutine ends; nil: there is none
	closed  bool
}

// A task is something to do, and the key by which it is done once for several.
type task struct {
	key  string
	size int64
	do   func(ctx context.Context)
	done chan struct{} // closed when it is done
}

// New returns an empty queue. What is dropped is logged at debug level.
func New(logger *slog.Logger) *Queue {
	q := &Queue{logger: logger}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// Add has do done, which holds on to size bytes meanwhile. With a key that waits
// already, once is enough. It does not block. The channel is closed when it is done;
// nil means that it is not going to be, for want of room or because the queue is
// closed.
func (q *Queue) Add(key string, size int, do func(ctx context.Context)) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if key != "" {
		for _, t := range q.waiting {
			if t.key == key {
				return t.done
			}
		}
	}
	n := int64(size)
	if q.closed || len(q.waiting) >= MaxWaiting || len(q.waiting) > 0 && q.bytes+n > MaxBytes {
		q.logger.Debug("dropped, others wait", "waiting", len(q.waiting), "bytes", n)
		return nil
	}
	done := make(chan struct{})
	q.waiting = append(q.waiting, task{key, n, do, done})
	q.bytes += n
	if q.working == nil {
		q.working = make(chan struct{})
		go q.work(q.working)
	}
	return done
}

// work does what waits, until nothing does.
func (q *Queue) work(ended chan struct{}) {
	defer close(ended)
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.waiting, q.working = nil, nil
			q.mu.Unlock()
			return
		}
		t := q.waiting[0]
		q.waiting[0] = task{}
		q.waiting = q.waiting[1:]
		q.bytes -= t.size
		q.mu.Unlock()
		q.run(t)
	}
}

// run does a task, whose panic costs it alone.
func (q *Queue) run(t task) {
	defer close(t.done)
	defer func() {
		if v := recover(); v != nil {
			q.logger.Error("internal error", "error", fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		}
	}()
	t.do(q.ctx)
}

// Close takes nothing more and returns when all is done. What is not done when ctx
// ends is cancelled.
func (q *Queue) Close(ctx context.Context) {
	q.mu.Lock()
	q.closed = true
	working := q.working
	q.mu.Unlock()
	defer q.cancel()
	if working == nil {
		return
	}
	select {
	case <-working:
	case <-ctx.Done():
		q.cancel()
		<-working
	}
}

// Cancel takes nothing more, cancels what is being done, and returns when it has ended.
func (q *Queue) Cancel() {
	q.cancel()
	q.Close(q.ctx)
}
