package relay

import (
	"cmp"
	"context"
	"slices"

	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/session"
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

// A recipient is the client that a message of a server is for.
type recipient struct {
	client  *session.Session // nil: nobody
	request *session.Request // of a deferred request, the one that waits now; or nil
	waiting []*running       // its requests there, the likeliest first
	why     string           // why it is nobody, for the server
}

// recipientOf is the client of the first of some requests of one party.
func recipientOf(waiting []*running) recipient {
	to := recipient{client: waiting[0].client, waiting: waiting}
	if d := waiting[0].deferred; d != nil {
		to.request = d.Current()
		to.client = to.request.Session
	}
	return to
}

// about is a context that says which of the client's requests a message is about, and
// that nothing but its user ends. A hold is for the answer to the request alone.
func (to recipient) about(ctx context.Context) context.Context {
	if len(to.waiting) > 0 {
		ctx = to.waiting[0].ctx
	}
	if to.request != nil {
		ctx = to.request.About()
	}
	return guard.WithHold(context.WithoutCancel(ctx), nil)
}

// askedBy finds whom the server asks.
func (c *Connection) askedBy(ctx context.Context) recipient {
	return c.recipient(ctx, func(waiting []*running, _ users) bool {
		// Each request of a stateless client comes by a session of its own. Of those of
		// one party, the newest is the likeliest to have made the server ask.
		for _, r := range waiting[1:] {
			if first := waiting[0].client; r.client != first && (r.deferred == nil || r.client.Party != first.Party) {
				return false
			}
		}
		return true
	})
}

// toldBy finds whom the server tells.
func (c *Connection) toldBy(ctx context.Context) recipient {
	return c.recipient(ctx, func(waiting []*running, u users) bool {
		for _, r := range waiting {
			if c.agent == "" && (u.several || r.client.Party != u.party) {
				return false
			}
		}
		return true
	})
}

// recipient finds whom a message of the server is for: the request that ctx says, or
// else those that the server works on, if they are one client's, as one tells.
func (c *Connection) recipient(ctx context.Context, one func(waiting []*running, u users) bool) recipient {
	if r, ok := ctx.Value(runningKey{}).(*running); ok {
		return recipientOf([]*running{r})
	}
	c.mu.Lock()
	u := c.users
	var waiting []*running
	for r := range c.running {
		waiting = append(waiting, r)
	}
	c.mu.Unlock()
	slices.SortFunc(waiting, func(a, b *running) int { return cmp.Compare(b.number, a.number) })
	switch {
	case len(waiting) == 0:
		return c.onlyClient(u)
	case !one(waiting, u):
		return recipient{why: cannotTell + "several have requests running"}
	}
	return recipientOf(waiting)
}

const cannotTell = "the proxy cannot tell which of its clients this is for: "

// onlyClient is the only client there is that may hear of the server, unless another party has used the server; or
// the only one of the connection's agent.
func (c *Connection) onlyClient(u users) recipient {
	all := slices.DeleteFunc(c.server.relay.opts.Clients.Of(c.agent), func(s *session.Session) bool { return !c.server.relay.maySee(s, c.server.name) })
	var found *session.Session
	for _, s := range all {
		if c.agent == "" && u.party != "" && (u.several || s.Party != u.party) {
			continue
		}
		if found != nil {
			found = nil
			break
		}
		found = s
	}
	switch {
	case found != nil:
		return recipient{client: found}
	case len(all) > 0:
		return recipient{why: cannotTell + "several are connected, or have used the server"}
	}
	return recipient{why: "no client is connected to the proxy"}
}
