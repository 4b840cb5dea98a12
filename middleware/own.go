package middleware

import (
	"context"
	"encoding/json"

	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
)

// callOwn answers a call of a tool of ours.
func (s *Server) callOwn(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	reach := tools.Reach{Healer: s.healerOf(r, nil), Catalogue: clientCatalogue{s, r}}
	if s.freshOffer(r).any {
		reach.Fresh = freshCaller{s, r, nil}
	}
	if s.offersStats() {
		reach.Statistics = func() string { return s.digest(r).Text() }
	}
	if s.manages(r) {
		reach.Upstreams = clientManager{s, r}
	}
	if s.makesTools(r) {
		reach.Toolbox = clientToolbox{s, r}
	}
	if !tools.Judges(r.Name) {
		return s.tools.Call(ctx, r.Session.Agent, r.Name, r.Arguments, reach)
	}
	return s.relay.Ask(ctx, r, func(ctx context.Context, a *relay.Asking) (json.RawMessage, error) {
		if guard.HoldOf(ctx) == nil { // it goes on while no request of the client is there
			hold := s.budget.Hold(r.Session.Party)
			defer hold.Release()
			ctx = guard.WithHold(ctx, hold)
		}
		reach.Judge = s.judgeOf(r, a)
		return s.tools.Call(ctx, r.Session.Agent, r.Name, r.Arguments, reach)
	})
}
