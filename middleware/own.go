package middleware

import (
	"context"
	"encoding/json"
	"errors"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/programs"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline"
)

// callOwn answers a call of a tool of ours.
func (s *Server) callOwn(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	if tools.Judges(r.Name) {
		return s.asking(ctx, r, func(ctx context.Context, reach tools.Reach) (json.RawMessage, error) {
			if reach.Fresh != nil && r.Name == "proxy_ask" { // its one call is of the request itself
				reach.Fresh = freshCaller{s: s, request: r}
			}
			return s.tools.Call(ctx, r.Session.Agent, r.Name, r.Arguments, reach)
		})
	}
	reach := tools.Reach{Healer: s.healerOf(r, nil), Catalogue: clientCatalogue{s, r}}
	if s.freshOffer(r).any {
		reach.Fresh = freshCaller{s: s, request: r}
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
	return s.tools.Call(ctx, r.Session.Agent, r.Name, r.Arguments, reach)
}

// asking answers a request by do, which may ask the client while it works: of calls that its
// program makes, and with questions for the sub-model.
func (s *Server) asking(ctx context.Context, r *session.Request, do func(ctx context.Context, reach tools.Reach) (json.RawMessage, error)) (json.RawMessage, error) {
	return s.relay.Ask(ctx, r, func(ctx context.Context, a *relay.Asking) (json.RawMessage, error) {
		if guard.HoldOf(ctx) == nil { // it goes on while no request of the client is there
			hold := s.budget.Hold(r.Session.Party)
			defer hold.Release()
			ctx = guard.WithHold(ctx, hold)
		}
		reach := tools.Reach{Healer: s.healerOf(r, nil), Catalogue: clientCatalogue{s, r}, Judge: s.judgeOf(r, a),
			Programs: s.opts.Code, State: &agentState{states: s.states, agent: r.Session.Agent}, Explain: s.explainCall}
		if s.freshOffer(r).any {
			reach.Fresh = askingCaller{s, a}
		}
		return do(ctx, reach)
	})
}

// explainCall is an error of a call that a program made, as the program reads it.
func (s *Server) explainCall(tool string, err error) error {
	if e, ok := s.explain(tool, err); ok {
		return e
	}
	return err // by a server itself
}

// An askingCaller calls tools for a program, which may make several calls at a time. What a
// person or a server is to be asked first, the client is asked while the program waits.
type askingCaller struct {
	s      *Server
	asking *relay.Asking
}

var _ tools.FreshCaller = askingCaller{}

// FreshCall implements [tools.FreshCaller]. Each call counts as one of the agent's.
func (c askingCaller) FreshCall(ctx context.Context, tool string, arguments json.RawMessage) (raw json.RawMessage, origin cache.Origin, err error) {
	r := c.asking.Current()
	done, err := c.s.calls.Begin(r.Session.Party)
	if err != nil {
		return nil, origin, err
	}
	defer done()
	hold := c.s.budget.Hold(r.Session.Party)
	defer hold.Release()
	ctx = guard.WithHold(ctx, hold)
	answers := false
	raw, err = c.asking.Answered(ctx, func(q *session.Request) (raw json.RawMessage, err error) {
		if !answers { // what the client has answered so far is for calls before this one
			first := *q
			if first.Params, err = withoutAnswers(q.Params); err != nil {
				return nil, err
			}
			q = &first
		}
		raw, origin, err = freshCaller{s: c.s, request: q, answers: answers}.FreshCall(ctx, tool, arguments)
		answers = true
		return raw, err
	})
	if errors.Is(err, relay.ErrRetired) { // the server was replaced just now
		err = &pipeline.Error{Code: codeUnavailable, Text: "the server of " + clipped(tool) + " is being replaced", Hint: "try again in a moment", Err: err}
	}
	return raw, origin, err
}

// withoutAnswers are params without what a client has answered.
func withoutAnswers(params json.RawMessage) (json.RawMessage, error) {
	return jsonscan.Rewrite(params, func(key string, value json.RawMessage) json.RawMessage {
		if key == "requestState" || key == "inputResponses" {
			return nil
		}
		return value
	})
}

// Kept implements [tools.FreshCaller]. What programs call is not kept.
func (askingCaller) Kept(context.Context, cache.ID) {}

// An agentState is the state of an agent's programs.
type agentState struct {
	states *programs.States
	agent  string
	was    programs.Version // as it was loaded
}

var _ tools.State = (*agentState)(nil)

// Load implements [tools.State].
func (a *agentState) Load(ctx context.Context) (_ json.RawMessage, noModel bool, err error) {
	var state programs.State
	state, a.was, err = a.states.Get(ctx, a.agent)
	return state.Value, state.NoModel, err
}

// Save implements [tools.State].
func (a *agentState) Save(ctx context.Context, state json.RawMessage, noModel bool) (bool, error) {
	return a.states.Put(ctx, a.agent, a.was, programs.State{Value: state, NoModel: noModel})
}
