package middleware

import (
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/shape"
)

// seenBy is what the session of a request was shown, or nil where that is not remembered:
// a request of 2026-07-28 may be of anybody who has never seen anything.
func (s *Server) seenBy(r *session.Request) *shape.Seen {
	if s.opts.NoDifferences || r.Stateless {
		return nil
	}
	seen, ok := s.seen.Load(r.Session)
	if !ok {
		seen, _ = s.seen.LoadOrStore(r.Session, &shape.Seen{})
	}
	return seen.(*shape.Seen)
}
