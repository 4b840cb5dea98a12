package auth

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// refusalLines is how many refusals of one reason are logged in a
	// refusalTime; of the others there is a count at its end. Whoever reaches
	// the port can be refused, as often as he likes.
	refusalLines = 10
	refusalTime  = time.Minute
)

// refusals counts what is refused, by reason: there are as many as there are
// checks, so that a flood of one hides none of the others.
type refusals struct {
	log *slog.Logger

	mu   sync.Mutex // guards the field below
	seen map[string]int
}

// level is that at which a refusal is logged: debug once there were many.
func (s *refusals) level(reason string) slog.Level {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[reason]++
	switch n := s.seen[reason]; {
	case n == 1:
		time.AfterFunc(refusalTime, func() { s.sum(reason) })
	case n > refusalLines:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// sum tells how many were not logged, and begins anew.
func (s *refusals) sum(reason string) {
	s.mu.Lock()
	n := s.seen[reason] - refusalLines
	delete(s.seen, reason)
	s.mu.Unlock()
	if n > 0 {
		s.log.Info("http requests refused", "reason", reason, "more", n, "within", refusalTime)
	}
}
