package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// places holds the sessions, up to a number. When all places are taken, the sessions of one
// subject do not keep others out: a subject with fewer takes places of the subject with
// most, until both have as many.
//
//	nothing open for a minute   gives way to anybody who then has no more than its subject
//	no call runs                gives way to a subject that then has fewer
//	a call runs                 stays
type places struct {
	max     int
	idle    time.Duration    // after which a session that is not in use ends
	expired func(s *session) // ends such a session, which has lost its place
	ends    sync.WaitGroup   // of sessions that have lost their places

	mu       sync.Mutex // guards the field below, and of sessions active, since and timer
	sessions map[string]*session
}

func newPlaces(max int, idle time.Duration, expired func(*session)) *places {
	return &places{max: max, idle: idle, expired: expired, sessions: map[string]*session{}}
}

// add gives a session a place, in use. If there is none, it takes that of another, which
// the caller ends.
func (p *places) add(s *session) (evicted *session, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sessions) >= p.max {
		if evicted = p.readiest(s.subject); evicted == nil {
			return nil, false
		}
		p.vacate(evicted)
	}
	s.active, s.since = 1, time.Now()
	p.sessions[s.id] = s
	return evicted, true
}

// use returns the session of an id, or nil. If it is subject's, it does not expire until
// it is released.
func (p *places) use(id, subject string) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[id]
	if s != nil && s.subject == subject {
		s.active++
	}
	return s
}

// has reports whether there is a session of this id.
func (p *places) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sessions[id] != nil
}

func (p *places) release(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.active--
	s.since = time.Now()
	switch {
	case s.active > 0 || p.sessions[s.id] != s:
	case s.timer == nil:
		s.timer = time.AfterFunc(p.idle, func() { p.expire(s) })
	default:
		s.timer.Reset(p.idle)
	}
}

// bind has end called when the last of the tokens that were shown for a session has ended,
// of which this is the life of one.
func (p *places) bind(s *session, life context.Context, end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.tokens[life] != nil || p.sessions[s.id] != s {
		return
	}
	if s.tokens == nil {
		s.tokens = map[context.Context]func() bool{}
	}
	s.tokens[life] = context.AfterFunc(life, func() {
		p.mu.Lock()
		delete(s.tokens, life)
		last := len(s.tokens) == 0
		p.mu.Unlock()
		if last {
			end()
		}
	})
}

// expire ends a session that nobody has used for a while.
func (p *places) expire(s *session) {
	p.mu.Lock()
	idle := s.active == 0 && time.Since(s.since) >= p.idle && p.sessions[s.id] == s
	if idle {
		p.vacate(s)
	}
	p.mu.Unlock()
	if idle {
		p.expired(s)
	}
}

// remove takes a session's place away, and reports whether it had one. If so, the caller
// ends it.
func (p *places) remove(s *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions[s.id] != s {
		return false
	}
	p.vacate(s)
	return true
}

// vacate takes a session's place away. p.mu must be held. Whoever ends the session then
// calls ends.Done.
func (p *places) vacate(s *session) {
	if s.timer != nil {
		s.timer.Stop()
	}
	for _, unbind := range s.tokens {
		unbind()
	}
	delete(p.sessions, s.id)
	p.ends.Add(1)
}

// all returns the sessions that have a place.
func (p *places) all() []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.sessions))
}

// restTime is how long a session without anything open keeps its place when
// others need it.
const restTime = time.Minute

// readiest is the session that gives way to another of subject, or nil: of the subject
// with most sessions the one with least open, then the one that was used longest ago. p.mu
// must be held. It costs a look at each session.
func (p *places) readiest(subject string) *session {
	count := map[string]int{subject: 1}
	for _, s := range p.sessions {
		count[s.subject]++
	}
	var best *session
	for _, s := range p.sessions {
		if s.givesWay(count[s.subject]-count[subject]) && (best == nil || cmp.Or(
			cmp.Compare(count[best.subject], count[s.subject]),
			cmp.Compare(s.active, best.active),
			s.since.Compare(best.since)) < 0) {
			best = s
		}
	}
	return best
}

// givesWay reports whether s gives way to a subject that would have so many sessions
// fewer than that of s. places.mu must be held.
func (s *session) givesWay(fewer int) bool {
	switch {
	case s.active == 0 && time.Since(s.since) >= restTime:
		return fewer >= 0
	case s.active == 0, s.client.Initialized() && s.client.Serving() == 0:
		return fewer > 0
	}
	return false
}
