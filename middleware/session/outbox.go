package session

import (
	"context"
	"log/slog"
	"sync"

	"rlmproxy/middleware/queue"
)

// An outbox has what a client tells its servers, a queue for each, so that a slow one
// holds up no other.
type outbox struct {
	mu     sync.Mutex // guards the fields below
	queues map[string]*queue.Queue
	closed bool
}

// Outbox is the queue of what the client tells a server, nil when the client has gone.
func (s *Session) Outbox(server string, log *slog.Logger) *queue.Queue {
	o := &s.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	if q := o.queues[server]; q != nil || o.closed {
		return q
	}
	if o.queues == nil {
		o.queues = map[string]*queue.Queue{}
	}
	q := queue.New(log.With("server", server, "agent", s.Agent))
	o.queues[server] = q
	return q
}

// close takes nothing more and returns when all has been told, or ctx has ended.
func (o *outbox) close(ctx context.Context) {
	o.mu.Lock()
	o.closed = true
	queues := o.queues
	o.mu.Unlock()
	var told sync.WaitGroup
	for _, q := range queues {
		told.Go(func() { q.Close(ctx) })
	}
	told.Wait()
}
