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
	sharing *sharing // nil: there is one replica

	// Guarded by places.mu:
	active int         // requests and streams that are open
	since  time.Time   // when the last of them ended
	timer  *time.Timer // of its end when it is idle; nil before its first request has ended
	// tokens are the lives of those that were shown for it and have not ended, each with
	// what takes the session off it.
	tokens map[context.Context]func() bool
}

// open begins a session that is in use. It is nil if there are too many.
func (h *Handler) open(r *http.Request) *session { return h.attach(r, rand.Text(), nil) }

// attach is open for a session that another replica may have begun: past is what its client
// has said there, or nil.
func (h *Handler) attach(r *http.Request, id string, past *middleware.Past) *session {
	s := &session{id: id}
	s.subject, _ = auth.Subject(r.Context())
	s.life, s.end = context.WithCancelCause(h.life)
	who := middleware.Identity{Subject: s.subject, Session: s.id}
	who.Who, _ = rights.From(r.Context())
	opts := h.sessionOptions()
	h.shared.prepare(s, &opts, past != nil)
	s.streams = newStreams(s, h.opts.Accounts.Of(who.Party(0)))
	s.streams.elsewhere = h.shared.elsewhere(s)
	if past == nil {
		s.client = h.opts.Attach(s.streams, who, opts)
	} else {
		s.client = h.opts.Resume(s.streams, who, opts, *past)
	}
	evicted, ok := h.places.add(s)
	if evicted != nil {
		h.finish(evicted, "another session needs its place", left)
	}
	if !ok {
		s.end(errEnded)
		if past == nil {
			s.client.End()
		} else {
			s.roamer().Leave()
		}
		return nil
	}
	h.shared.enter(s)
	h.bind(s, r)
	h.log.Debug("session begun", "remote", r.RemoteAddr)
	return s
}

// find returns the session of a request and keeps it from expiring until it is
// released. If there is none, it has answered. Patiently says that it may take as long as an
// answer of the client waits for a store that is away.
func (h *Handler) find(w http.ResponseWriter, r *http.Request, patiently bool) *session {
	id := r.Header.Get(headerSession)
	if id == "" {
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, headerSession+" is missing: a session begins with initialize")
		return nil
	}
	subject, _ := auth.Subject(r.Context())
	s, err := h.places.use(id, subject), error(nil)
	switch {
	case s == nil && patiently && h.shared != nil:
		_, err = h.shared.patiently(r.Context(), func() (err error) {
			s, err = h.takeOver(r, id, subject)
			return err
		})
	case s == nil:
		s, err = h.takeOver(r, id, subject)
	case s.subject != subject:
		err = errNotYours
	}
	if err != nil {
		refuseSession(w, r, err)
		return nil
	}
	h.bind(s, r)
	h.shared.touch(s)
	return s
}

// bind has a session end when the token of a request is taken out, unless another one
// that is still good was shown for it.
func (h *Handler) bind(s *session, r *http.Request) {
	if life := auth.Life(r.Context()); life != nil {
		h.places.bind(s, life, func() { h.revokedAt(s) })
		if s.sharing != nil {
			h.shared.shows(s)
		}
	}
}

// remove ends a session, once, and returns when it has ended.
func (h *Handler) remove(s *session, why string, how ending) {
	if h.places.remove(s) {
		h.finish(s, why, how)
	}
}

// finish ends a session that has no place any more.
func (h *Handler) finish(s *session, why string, how ending) {
	defer h.places.ends.Done()
	if how = h.shared.ending(s, how); how == left {
		s.end(errLeft)
	} else {
		s.end(errEnded)
	}
	if h.shared.part(s); how == ended {
		s.client.End()
	} else {
		s.roamer().Leave()
	}
	s.streams.settle()
	h.replay.forget(s)
	h.log.Debug("session ended", "why", why, "here", how != ended)
}

// get opens the stream on which a client listens, or resumes another.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	if !accepts(r).events {
		http.Error(w, "Accept must include text/event-stream", http.StatusNotAcceptable)
		return
	}
	s := h.find(w, r, false)
	if s == nil {
		return
	}
	defer h.places.release(s)
	stream, from := s.streams.listening, -1
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if stream, from = s.streams.find(last); stream == nil && s.sharing != nil {
			listens, answered := h.shared.resume(w, last)
			if answered {
				return
			}
			if listens {
				stream, from = s.streams.listening, -1
			}
		}
		if stream == nil {
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
	if stream == s.streams.listening && s.sharing != nil {
		stream.expect(true) // or what others pass on at once finds nobody
		defer stream.expect(false)
		h.shared.listens(s)
	}
	out := newResponse(w, true)
	if out.comment() == nil {
		h.deliver(r.Context(), out, stream, false)
	}
}

func (h *Handler) delete(w http.ResponseWriter, r *http.Request) {
	s := h.find(w, r, false)
	if s == nil {
		return
	}
	h.places.release(s)
	h.remove(s, "the client ended it", ended)
	w.WriteHeader(http.StatusNoContent)
}
