package web

import (
	"context"
	"net/http"
	"time"

	"rlmproxy/middleware/auth"
)

const (
	// primeTime is how long an answer may take before a client that can resume
	// its stream is told the stream's id: most answers are quicker and need none.
	primeTime = 100 * time.Millisecond

	// retryTime is what a client that was cut off is asked to wait before it
	// resumes. It is as long as the SDKs' clients wait unasked.
	retryTime = time.Second

	// beginTime is how long a client waits for the headers of a reply.
	beginTime = 10 * time.Second

	// beatTime is after how long without an event a comment is sent, so that
	// nothing on the way takes the connection for dead.
	beatTime = 25 * time.Second
)

// deliver sends what the stream has to a client, until it is over or the client
// goes. Resumable says that a client which was cut off will try.
func (h *Handler) deliver(ctx context.Context, p *reply, s *stream, resumable bool) {
	r := s.attach()
	over := false
	defer func() {
		if over {
			h.ended(p, s)
		}
		s.detach(r, over)
	}()
	wait := beginTime
	if resumable {
		wait = primeTime
	}
	prime := func() error {
		s.number()
		return p.prime(s.id, min(retryTime, s.link.resumeTime/4))
	}
	if resumable && p.streams && prime() != nil {
		return
	}
	begin := time.NewTimer(wait)
	defer begin.Stop()
	beat := time.NewTicker(beatTime)
	defer beat.Stop()
	var drain <-chan struct{}
	if s.listens {
		drain = h.drain
		// A call that was begun in time may end; what is told later is for who still
		// has a token.
		if at, ok := auth.Expiry(ctx); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, at)
			defer cancel()
		}
	}
	for {
		var e *event
		var n int
		if e, n, over = s.take(r); over || n < 0 {
			return
		}
		if e != nil {
			if !h.send(p, s, e, n) {
				return
			}
			continue
		}
		var err error
		select {
		case <-r.wake:
		case <-begin.C:
			if p.begun {
				break
			}
			if err = p.begin(); err == nil && resumable {
				err = prime()
			}
		case <-beat.C:
			if p.begun {
				err = p.comment()
			}
		case <-r.out:
			return
		case <-drain:
			return
		case <-h.life.Done():
			p.lost(http.StatusServiceUnavailable, "shutting down")
			return
		case <-s.link.done:
			p.lost(http.StatusNotFound, "the session has ended")
			return
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// ended ends a reply that has nothing in it, since all of its requests were
// cancelled, as a stream without events. If the client knows the stream's id, it is
// kept like others, so that the client hears that it is over.
func (h *Handler) ended(p *reply, s *stream) {
	s.mu.Lock()
	empty, numbered := s.next == 0, s.numbered
	s.mu.Unlock()
	switch {
	case !empty:
	case numbered:
		h.replay.keep(s, 0, 0)
	default:
		_ = p.begin() // the client may be gone
	}
}

// send sends one event: as the whole reply, if it is, and the client would not
// rather have events, in which HTTP has no status for an error.
func (h *Handler) send(p *reply, s *stream, e *event, n int) bool {
	events := p.streams && (s.link.session != "" || e.status == http.StatusOK)
	if !p.begun && !events && e.answer && n == 1 && len(s.owed) == 1 && !s.batch {
		err := p.whole(e, s.link.session == "")
		s.forget(n)
		return err == nil
	}
	var err error
	if s.link.session == "" {
		err = p.event("", 0, e)
	} else {
		s.number()
		err = p.event(s.id, n, e)
	}
	if err != nil {
		return false // what was sent of it counts for nothing: the client names the last whole one
	}
	if s.link.session == "" {
		s.forget(n)
	} else {
		h.replay.keep(s, n, e.size())
	}
	return true
}
