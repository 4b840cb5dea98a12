package middleware

import (
	"context"
	"log/slog"
	"sync"
)

// Bounds on what waits in one queue. A peer that tells faster than another
// listens loses the rest.
const (
	maxQueued      = 256
	maxQueuedBytes = 4 << 20 // one task may be longer than that
)

// A queue does things for one peer, one after the other and in their order, in a
// goroutine that is there while any wait.
type queue struct {
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

func newQueue(logger *slog.Logger) *queue {
	q := &queue{logger: logger}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// add has do done, which holds on to size bytes meanwhile. With a key that
// waits already, once is enough. It does not block. The channel is closed when
// it is done; nil means that it is not going to be, for want of room or because
// the queue is closed.
func (q *queue) add(key string, size int, do func(ctx context.Context)) <-chan struct{} {
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
	if q.closed || len(q.waiting) >= maxQueued || len(q.waiting) > 0 && q.bytes+n > maxQueuedBytes {
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
func (q *queue) work(ended chan struct{}) {
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
		q.one(t)
	}
}

// one does a task, whose fault costs it alone.
func (q *queue) one(t task) {
	defer close(t.done)
	defer func() {
		if v := recover(); v != nil {
			q.logger.Error("internal error", "error", panicked(v))
		}
	}()
	t.do(q.ctx)
}

// close takes nothing more and returns when all is done. What is not done when
// ctx ends is cancelled.
func (q *queue) close(ctx context.Context) {
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
