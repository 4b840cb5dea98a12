package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/rights"
)

// A session is a client of a revision before 2026-07-28, between its requests.
type session struct {
	id      string
	subject string // of whoever began it, or ""
	streams *streams
	client  Session
	life    context.Context // ended with the session
	end     context.CancelCauseFunc

	// Guarded by places.mu:
	active int         // requests and streams that are open
	since  time.Time   // when the last of them ended
	timer  *time.Timer // of its end when it is idle; nil before its first request has ended
	// tokens are the lives of those that were shown for it and have not ended, each with
	// what takes the session off it.
	tokens map[context.Context]func() bool
}

// open begins a session that is in use. It is nil if there are too many.
func (h *Handler) open(r *http.Request) *session {
	s := &session{id: rand.Text()}
	s.subject, _ = auth.Subject(r.Context())
	s.life, s.end = context.WithCancelCause(h.life)
	who := middleware.Identity{Subject: s.subject, Session: s.id}
	who.Who, _ = rights.From(r.Context())
	s.streams = newStreams(s, h.opts.Accounts.Of(who.Party(0)))
	s.client = h.opts.Attach(s.streams, who, h.sessionOptions())
	evicted, ok := h.places.add(s)
	if evicted != nil {
		h.finish(evicted, "another session needs its place")
	}
	if !ok {
		s.end(errEnded)
		s.client.End()
		return nil
	}
	h.bind(s, r)
	h.log.Debug("session begun", "remote", r.RemoteAddr)
	return s
}

// find returns the session of a request and keeps it from expiring until it is
// released. If there is none, it has answered.
func (h *Handler) find(w http.ResponseWriter, r *http.Request) *session {
	id := r.Header.Get(headerSession)
	if id == "" {
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, headerSession+" is missing: a session begins with initialize")
		return nil
	}
	subject, _ := auth.Subject(r.Context())
	s := h.places.use(id, subject)
	switch {
	case s == nil:
		fail(w, http.StatusNotFound, nil, codeNoSession, "no such session; it may have expired: begin another with initialize")
	case s.subject != subject:
		fail(w, http.StatusForbidden, nil, codeNoSession, "the session belongs to another agent")
		s = nil
	default:
		h.bind(s, r)
	}
	return s
}

// bind has a session end when the token of a request is taken out, unless another one
// that is still good was shown for it.
func (h *Handler) bind(s *session, r *http.Request) {
	if life := auth.Life(r.Context()); life != nil {
		h.places.bind(s, life, func() { h.remove(s, "its token was revoked") })
	}
}

// remove ends a session, once, and returns when it has ended.
func (h *Handler) remove(s *session, why string) {
	if h.places.remove(s) {
		h.finish(s, why)
	}
}

// finish ends a session that has no place any more.
func (h *Handler) finish(s *session, why string) {
	defer h.places.ends.Done()
	s.end(errEnded)
	s.client.End()
	s.streams.settle()
	h.replay.forget(s)
	h.log.Debug("session ended", "why", why)
}

// get opens the stream on which a client listens, or resumes another.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	if !accepts(r).events {
		http.Error(w, "Accept must include text/event-stream", http.StatusNotAcceptable)
		return
	}
	s := h.find(w, r)
	if s == nil {
		return
	}
	defer h.places.release(s)
	stream, from := s.streams.listening, -1
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if stream, from = s.streams.find(last); stream == nil {
			fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "the stream of this Last-Event-ID cannot be resumed")
			return
		}
	}
	switch stream.resume(from) {
	case http.StatusNoContent: // "stop coming back", for whoever reads events
		w.WriteHeader(http.StatusNoContent)
		return
	case http.StatusBadRequest:
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "the events after this Last-Event-ID are no longer kept")
		return
	}
	out := newResponse(w, true)
	if out.comment() == nil {
		h.deliver(r.Context(), out, stream, false)
	}
}

func (h *Handler) delete(w http.ResponseWriter, r *http.Request) {
	s := h.find(w, r)
	if s == nil {
		return
	}
	h.places.release(s)
	h.remove(s, "the client ended it")
	w.WriteHeader(http.StatusNoContent)
}
