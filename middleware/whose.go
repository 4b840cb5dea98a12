package middleware

import (
	"cmp"
	"context"
	"slices"

	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/wire"
)

// What a server asks or tells is for one of its clients, and may hold what that
// client's requests were about. Where the transport has a stream for each request,
// ctx says which it is for. Elsewhere a pipe carries all, and these rules hold; a
// party is whoever is one agent, whether or not their cache is shared.
//
//   - What it asks is for the party whose requests run there: servers may ask only
//     while they work on a request of whom they ask. While those of two parties
//     run, it is refused.
//   - What it tells is for the one party that has used it since it started, and for
//     nobody as soon as there were two: log lines also tell of what has ended.
//   - What it asks while nothing runs there, such as for roots, likewise.
//   - Before anybody has used it, all is for the only client there is.
//
// Where each agent has a connection of its own, the functions below get the agent
// of the one that a message came by, else "".

// running is a request of a client that a server works on.
type running struct {
	up     *Upstream
	client *client
	ctx    context.Context // ends with the request
	timer  *callTimer
	held   *held // nil for clients that can be asked meanwhile
	number int   // in the order of their beginning
}

type runningKey struct{}

// begin notes that up works on a request of c.
func (s *Server) begin(ctx context.Context, up *Upstream, c *client, timer *callTimer, h *held) (context.Context, func()) {
	r := &running{up: up, client: c, timer: timer, held: h}
	ctx = context.WithValue(ctx, runningKey{}, r)
	r.ctx = ctx
	s.use(up, c)
	s.mu.Lock()
	s.begunCalls++
	r.number = s.begunCalls
	s.running[r] = struct{}{}
	s.mu.Unlock()
	return ctx, func() {
		s.use(up, c) // the server may have been started again meanwhile
		s.mu.Lock()
		delete(s.running, r)
		s.mu.Unlock()
	}
}

// usage is who has used a server since it started.
type usage struct {
	life    *upstream.Info // what it said of itself when it did
	party   string
	several bool
}

// use notes that a client uses a server.
func (s *Server) use(up *Upstream, c *client) {
	life := up.Conn.Info()
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.usage[up.Name]
	switch {
	case !ok || u.life != life:
		u = usage{life: life, party: c.party}
	case u.party != c.party:
		u.several = true
	}
	s.usage[up.Name] = u
}

// A recipient is the client that a message of a server is for.
type recipient struct {
	client  *client    // nil: nobody
	request *request   // of a held request, the one that waits now; or nil
	waiting []*running // its requests there, the likeliest first
	why     string     // why it is nobody, for the server
}

// at is the recipient of what is about the first of some requests of one party.
func at(waiting []*running) recipient {
	to := recipient{client: waiting[0].client, waiting: waiting}
	if h := waiting[0].held; h != nil {
		to.request = h.current()
		to.client = to.request.client
	}
	return to
}

// about is a context that says which of the client's requests a message is about,
// and that nothing but its user ends. A hold is for the answer to the request
// alone.
func (to recipient) about(ctx context.Context) context.Context {
	if len(to.waiting) > 0 {
		ctx = to.waiting[0].ctx
	}
	if to.request != nil {
		ctx = to.request.about(ctx)
	}
	return wire.WithHold(context.WithoutCancel(ctx), nil)
}

// about is ctx for messages about r.
func (r *request) about(ctx context.Context) context.Context {
	return context.WithValue(ctx, originKey{}, r.origin)
}

// askedBy finds whom a server asks.
func (s *Server) askedBy(ctx context.Context, up *Upstream, agent string) recipient {
	return s.whose(ctx, up, agent, func(waiting []*running) bool {
		// Each request of a stateless client comes by a connection of its own. Of
		// those of one party, the newest is the likeliest to have made the server ask.
		for _, r := range waiting[1:] {
			if first := waiting[0].client; r.client != first && (r.held == nil || r.client.party != first.party) {
				return false
			}
		}
		return true
	})
}

// toldBy finds whom a server tells.
func (s *Server) toldBy(ctx context.Context, up *Upstream, agent string) recipient {
	return s.whose(ctx, up, agent, func(waiting []*running) bool {
		u := s.usage[up.Name]
		for _, r := range waiting {
			if agent == "" && (u.several || r.client.party != u.party) {
				return false
			}
		}
		return true
	})
}

// whose finds whom a message of a server is for: the request that ctx says, or else
// those that the server works on, if they are one client's. one is called with s.mu
// held.
func (s *Server) whose(ctx context.Context, up *Upstream, agent string, one func(waiting []*running) bool) recipient {
	if r, ok := ctx.Value(runningKey{}).(*running); ok {
		return at([]*running{r})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch waiting := s.runningAt(up, agent); {
	case len(waiting) == 0:
		to := recipient{client: s.only(up, agent)}
		if to.client == nil {
			to.why = s.whyNobody(agent)
		}
		return to
	case !one(waiting):
		return recipient{why: cannotTell + "several have requests running"}
	default:
		return at(waiting)
	}
}

const cannotTell = "the proxy cannot tell which of its clients this is for: "

// whyNobody is why no client can be asked while nothing runs. s.mu must be held.
func (s *Server) whyNobody(agent string) string {
	for _, c := range s.clients {
		if agent == "" || c.agent == agent {
			return cannotTell + "several are connected, or have used the server"
		}
	}
	return "no client is connected to the proxy"
}

// runningAt are the requests that up works on, the newest first. s.mu must be
// held.
func (s *Server) runningAt(up *Upstream, agent string) []*running {
	var all []*running
	for r := range s.running {
		if r.up.Name == up.Name && (agent == "" || r.client.agent == agent) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *running) int { return cmp.Compare(b.number, a.number) })
	return all
}

// only is the only client there is, unless another party has used up; or the only
// one of agent. s.mu must be held.
func (s *Server) only(up *Upstream, agent string) *client {
	u, used := s.usage[up.Name]
	var found *client
	for _, c := range s.clients {
		if agent == "" && used && (u.several || c.party != u.party) || agent != "" && c.agent != agent {
			continue
		}
		if found != nil {
			return nil
		}
		found = c
	}
	return found
}
