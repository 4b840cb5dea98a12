package session

import (
	"slices"
	"sync"
)

// A Registry has the sessions that are there. The zero value is ready to use.
type Registry struct {
	mu       sync.Mutex // guards the fields below
	sessions []*Session
	number   int
}

// Number returns a number that no other session has got.
func (r *Registry) Number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
	return r.number
}

// Add adds a session, which Remove takes out.
func (r *Registry) Add(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions = append(r.sessions, s)
}

// Remove takes a session out.
func (r *Registry) Remove(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.sessions, s); i >= 0 {
		r.sessions = slices.Delete(r.sessions, i, i+1)
	}
}

// Of returns the sessions of an agent, or all if that is "", in the order in which they
// came.
func (r *Registry) Of(agent string) []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if agent == "" {
		return slices.Clone(r.sessions)
	}
	var out []*Session
	for _, s := range r.sessions {
		if s.Agent == agent {
			out = append(out, s)
		}
	}
	return out
}
