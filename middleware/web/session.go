package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
)

// A session is a client of a revision before 2026-07-28, between its requests.
type session struct {
	id      string
	subject string // of whoever began it, or ""
	link    *link
	client  *middleware.Session

	// Guarded by Handler.mu:
	active int         // requests and streams that are open
	since  time.Time   // when the last of them ended
	timer  *time.Timer // of its end; nil: it has ended
}

// open begins a session that is in use. It is nil if there are too many.
func (h *Handler) open(r *http.Request) *session {
	subject, _ := auth.Subject(r.Context())
	if !h.room(subject) {
		return nil
	}
	s := &session{id: rand.Text(), subject: subject, active: 1, since: time.Now()}
	s.link = h.newLink(s.id)
	client, err := h.opts.Server.Attach(context.WithoutCancel(r.Context()), s.link, middleware.Identity{Subject: s.subject, Session: s.id})
	h.mu.Lock()
	if h.opening[subject]--; h.opening[subject] == 0 {
		delete(h.opening, subject)
	}
	if err != nil {
		h.mu.Unlock()
		h.log.Error("session not begun", "error", err)
		return nil
	}
	s.client = client
	s.timer = time.AfterFunc(h.opts.SessionIdle, func() { h.expire(s) })
	h.sessions[s.id] = s
	n := len(h.sessions)
	h.mu.Unlock()
	h.log.Debug("session begun", "remote", r.RemoteAddr, "sessions", n)
	return s
}

// room takes a place for a session of subject, at the cost of another's if need be:
// open gives it back.
func (h *Handler) room(subject string) bool {
	h.mu.Lock()
	var yields *session
	begun := len(h.sessions)
	for _, n := range h.opening {
		begun += n
	}
	if begun >= h.opts.MaxSessions {
		if yields = h.yields(subject); yields == nil {
			h.mu.Unlock()
			return false
		}
		h.unlist(yields)
	}
	h.opening[subject]++
	h.mu.Unlock()
	if yields != nil {
		h.finish(yields, "others need its place")
	}
	return true
}

// use finds the session of a request and keeps it from expiring until release.
// If there is none, it has answered.
func (h *Handler) use(w http.ResponseWriter, r *http.Request) *session {
	id := r.Header.Get(headerSession)
	if id == "" {
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, headerSession+" is missing: a session begins with initialize")
		return nil
	}
	subject, _ := auth.Subject(r.Context())
	h.mu.Lock()
	s := h.sessions[id]
	if s != nil && s.subject == subject {
		s.active++
	}
	h.mu.Unlock()
	switch {
	case s == nil:
		fail(w, http.StatusNotFound, nil, codeNoSession, "no such session; it may have expired: begin another with initialize")
	case s.subject != subject:
		fail(w, http.StatusForbidden, nil, codeNoSession, "the session is another agent's")
		s = nil
	}
	return s
}

func (h *Handler) release(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.active--
	s.since = time.Now()
	if s.active == 0 && s.timer != nil {
		s.timer.Reset(h.opts.SessionIdle)
	}
}

func (h *Handler) expire(s *session) {
	h.mu.Lock()
	idle := s.active == 0 && time.Since(s.since) >= h.opts.SessionIdle
	h.mu.Unlock()
	if idle {
		h.remove(s, "idle")
	}
}

// remove ends a session, once, and returns when it has ended.
func (h *Handler) remove(s *session, why string) {
	h.mu.Lock()
	listed := s.timer != nil
	if listed {
		h.unlist(s)
	}
	h.mu.Unlock()
	if listed {
		h.finish(s, why)
	}
}

// unlist takes a session's place away, before finish ends it. h.mu must be held.
func (h *Handler) unlist(s *session) {
	s.timer.Stop()
	s.timer = nil
	delete(h.sessions, s.id)
	h.running.Add(1)
}

func (h *Handler) finish(s *session, why string) {
	defer h.running.Done()
	s.link.Close()
	s.client.End()
	h.replay.forget(s.link)
	h.log.Debug("session ended", "why", why)
}

// get opens the stream of what no request is owed, or resumes another.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	if _, streams := accepts(r); !streams {
		http.Error(w, "Accept must have text/event-stream", http.StatusNotAcceptable)
		return
	}
	s := h.use(w, r)
	if s == nil {
		return
	}
	defer h.release(s)
	stream, from := s.link.standalone, -1
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if stream, from = s.link.find(last); stream == nil {
			fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "the stream of this Last-Event-ID cannot be resumed")
			return
		}
	}
	if stream.done(from) {
		w.WriteHeader(http.StatusNoContent) // "stop coming back", for whoever reads events
		return
	}
	if !stream.resume(from) {
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "what came after this Last-Event-ID is not kept any more")
		return
	}
	p := newReply(w)
	p.begin()
	h.deliver(r.Context(), p, stream, false)
}

func (h *Handler) delete(w http.ResponseWriter, r *http.Request) {
	s := h.use(w, r)
	if s == nil {
		return
	}
	h.release(s)
	h.remove(s, "the client ended it")
	w.WriteHeader(http.StatusNoContent)
}
