package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/rpc"
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
	beat := beatTime
	if s.session != nil && h.shared != nil {
		beat = min(beat, h.opts.SessionIdle/4)
	}
	if out.begun {
		wait = beat
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
		m, n, more := s.take(r)
		if m != nil {
			if h.send(out, s, m, n) != nil {
				return
			}
			if s.session != nil {
				h.shared.touch(s.session)
			}
			timer.Reset(beat)
			continue
		}
		if !more && life.Err() == nil && !revoked(ctx, out) {
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
			if s.session != nil {
				h.shared.touch(s.session)
			}
			timer.Reset(beat)
		case <-life.Done():
			if revoked(ctx, out) {
				return
			}
			if status := http.StatusNotFound; !out.begun {
				if cause := context.Cause(life); cause == errShutdown || cause == errLeft {
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
			_ = revoked(ctx, out)
			return
		}
		if err != nil {
			return
		}
	}
}

// revoked reports whether the token of the request of ctx has been taken out, and if so
// says it where nothing has been said.
func revoked(ctx context.Context, out *response) bool {
	if life := auth.Life(ctx); life == nil || life.Err() == nil {
		return false
	}
	if !out.begun {
		out.begun = true
		fail(out.w, http.StatusUnauthorized, nil, codeNoSession, auth.ErrRevoked.Error())
	}
	return true
}

// send sends an event, the nth. An answer is the whole response, if it can be, unless the
// client would rather have events, in which HTTP has no status for an error.
func (h *Handler) send(out *response, s *stream, m *rpc.Message, n int) error {
	status := http.StatusOK
	if s.session == nil {
		status = statusOf(m.Error)
	}
	defer s.read(n)
	whole := !out.begun && !s.batch && m.Method == "" && (!out.prefersEvents || status != http.StatusOK)
	if whole || s.session == nil {
		defer s.forget(n) // nobody comes back for it
	}
	switch {
	case whole:
		return out.whole(m, status)
	case s.session == nil:
		return out.event("", m)
	}
	s.session.streams.identify(s)
	if err := out.event(eventID(s.id, n), m); err != nil {
		return err // what was sent of it counts for nothing: the client names the last whole one
	}
	h.replay.keep(s, n, size(m))
	return nil
}

// statusOf is how HTTP says in revision 2026-07-28 what an error object, or nil, says.
func statusOf(object json.RawMessage) int {
	if object == nil {
		return http.StatusOK
	}
	var e jsonrpc.Error
	_ = json.Unmarshal(object, &e) // the server's own may be of any form
	switch e.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return http.StatusOK
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
