package web

import "time"

// Sessions have so many places. When all are taken, those of one subject do not
// keep others out: a subject that has fewer sessions takes places of the one that
// has most, until both have as many.
//
//	rests for a minute    yields to anybody who then has no more than its subject
//	nothing is open       yields to a subject that then has fewer
//	only listens          likewise
//	a call runs           stays

// restTime is how long a session without anything open keeps its place when
// others need it.
const restTime = time.Minute

// How readily a session gives up its place.
const (
	rests = iota
	idle
	listens
	works
)

// yields is the session that gives up its place for another of subject, or nil.
// It is of the subject with most sessions, then the readiest, then the one that
// was used longest ago. h.mu must be held. It costs a look at each session.
func (h *Handler) yields(subject string) *session {
	has := map[string]int{}
	for s, n := range h.opening {
		has[s] = n
	}
	for _, s := range h.sessions {
		has[s.subject]++
	}
	mine := has[subject] + 1
	var best *session
	var bestHas, bestReadiness int
	for _, s := range h.sessions {
		n, readiness := has[s.subject], h.readiness(s)
		if s.subject == subject {
			n = mine
		}
		switch {
		case readiness == works, readiness == rests && n < mine, readiness != rests && n <= mine:
			continue
		case best == nil || n > bestHas:
		case n < bestHas || readiness > bestReadiness:
			continue
		case readiness == bestReadiness && !s.since.Before(best.since):
			continue
		}
		best, bestHas, bestReadiness = s, n, readiness
	}
	return best
}

// readiness is how readily s gives up its place. h.mu must be held.
func (h *Handler) readiness(s *session) int {
	switch {
	case s.active == 0 && time.Since(s.since) >= restTime:
		return rests
	case s.active == 0:
		return idle
	case s.client.Initialized() && !s.link.owes():
		return listens
	}
	return works
}
