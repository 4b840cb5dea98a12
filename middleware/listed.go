package middleware

import (
	"sync"

	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
)

// maxListed bounds the agents of requests without a session of which it is remembered that
// they were told of the proxy's own tools.
const maxListed = 10_000

// A listed remembers which clients were told of the proxy's own tools: sessions until they
// end, and of requests without one the agents, of too many any.
type listed struct {
	mu   sync.Mutex // guards the field below
	told map[any]bool
}

// first reports whether the client of r is told for the first time.
func (l *listed) first(r *session.Request) bool {
	var client any = r.Session
	if r.Stateless {
		client = r.Session.Party
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told[client] {
		return false
	}
	if l.told == nil {
		l.told = map[any]bool{}
	}
	if _, session := client.(*session.Session); !session && len(l.told) >= maxListed {
		for old := range l.told {
			if _, agent := old.(string); agent {
				delete(l.told, old)
				break
			}
		}
	}
	l.told[client] = true
	return true
}

func (l *listed) forget(c *session.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.told, c)
}

// tellListed tells Options.Listed what the client of r reads of the proxy itself, own being
// the definitions of its tools.
func (s *Server) tellListed(r *session.Request, own []string) {
	if s.opts.Listed != nil && s.listed.first(r) {
		s.opts.Listed(append(own, tools.Instructions))
	}
}
