package web

import (
	"context"
	"errors"
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

	// beginTime is how long a client waits for the headers of a response.
	beginTime = 10 * time.Second

	// beatTime is after how long without an event a comment is sent, so that
	// nothing on the way takes the connection for dead.
	beatTime = 25 * time.Second
)

// Why what runs was ended.
var (
	errShutdown = errors.New("shutting down")
	errEnded    = errors.New("the session has ended")
)

// deliver sends a stream's events to a client, until none will come or the client goes.
// Resumes says that a client which is cut off will come back for the rest.
func (h *Handler) deliver(ctx context.Context, out *response, s *stream, resumes bool) {
	r := s.attach()
	defer s.detach(r, h.opts.ResumeTime)
	life, wait := h.life, beginTime
	if s.session != nil {
		life = s.session.life
	}
	prime := func() error {
		s.session.streams.identify(s)
		return out.prime(s.id, min(retryTime, h.opts.ResumeTime/4))
	}
	if resumes {
		wait = primeTime
		if out.prefersEvents && prime() != nil {
			return
		}
	}
	if out.begun {
		wait = beatTime
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
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
		e, n, more := s.take(r)
		if e != nil {
			if h.send(out, s, e, n) != nil {
				return
			}
			timer.Reset(beatTime)
			continue
		}
		if !more && life.Err() == nil {
			h.finished(out, s)
			return
		}
		var err error
		select {
		case <-r.wake:
		case <-timer.C:
			if resumes && !out.begun {
				err = prime()
			} else {
				err = out.comment()
			}
			timer.Reset(beatTime)
		case <-life.Done():
			if status := http.StatusNotFound; !out.begun {
				if context.Cause(life) == errShutdown {
					status = http.StatusServiceUnavailable
				}
				fail(out.w, status, nil, codeNoSession, context.Cause(life).Error())
			}
			return
		case <-r.replaced:
			return
		case <-drain:
			return
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// send sends one event: as the whole response, if it is, and the client would not
// rather have events, in which HTTP has no status for an error.
func (h *Handler) send(out *response, s *stream, e *event, n int) error {
	inEvents := out.prefersEvents && (s.session != nil || e.status == http.StatusOK)
	if whole := !out.begun && !inEvents && !s.batch && e.kind == answer; whole {
		s.forget(n)
		if s.session != nil {
			e.status = http.StatusOK
		}
		return out.whole(e, e.status)
	}
	if s.session == nil {
		s.forget(n)
		return out.event("", e)
	}
	s.session.streams.identify(s)
	if err := out.event(eventID(s.id, n), e); err != nil {
		return err // what was sent of it counts for nothing: the client names the last whole one
	}
	h.replay.keep(s, n, e.size())
	return nil
}

// finished ends a response to which nothing will be added. If its requests were all
// cancelled, it is a stream without events. If the client knows the stream's id, it is
// kept for as long as an event, so that the client hears that it has ended.
func (h *Handler) finished(out *response, s *stream) {
	if !out.begun {
		_ = out.comment() // the client may be gone
	}
	if s.id != "" && s.forget(0) {
		h.replay.keep(s, 0, 0)
	}
}
