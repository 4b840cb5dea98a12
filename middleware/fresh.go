package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/consent"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/shape"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline"
)

// A freshCaller calls tools of servers for a query, request.
type freshCaller struct {
	s       *Server
	request *session.Request
	healer  *healer // that makes a call again, so nobody is asked; or nil
	answers bool    // the request's params have what the server has asked for, if anything
}

var _ tools.FreshCaller = freshCaller{}

// FreshCall calls a tool, if its operator trusts it so far, or the person at the client
// agrees.
func (f freshCaller) FreshCall(ctx context.Context, tool string, arguments json.RawMessage) (json.RawMessage, cache.Origin, error) {
	t, err := f.s.find(ctx, f.s.viewOf(f.request), tool)
	if err != nil {
		return nil, cache.Origin{}, err
	}
	origin := t.origin(arguments)
	switch {
	case f.healer != nil && !f.s.heals(t):
		return nil, cache.Origin{}, notFresh(t, consent.NotAsked)
	case !f.s.trusts(t) && f.s.opts.FreshCalls != FreshAsk:
		return nil, cache.Origin{}, notFresh(t, consent.NotAsked)
	case !f.s.trusts(t):
		switch said, question, err := f.s.mayAct(ctx, f.request, t, arguments); {
		case err != nil:
			return nil, cache.Origin{}, err
		case question != nil:
			return question, origin, nil
		case said != consent.Agreed:
			return nil, cache.Origin{}, notFresh(t, said)
		}
	}
	// Of the request, the client's progress token goes along and where it belongs in a
	// trace, and nothing else.
	params := jsonscan.AppendMember([]byte{'{'}, "name", jsonscan.Quote(t.tool.Name))
	if arguments != nil {
		params = jsonscan.AppendMember(params, "arguments", arguments)
	}
	if meta := observe.TraceMeta(f.request.Params); meta != nil {
		params = jsonscan.AppendMember(params, "_meta", meta)
	}
	var of *heals
	if f.healer != nil {
		of = f.healer.heals
	}
	if state := jsonscan.Member(f.request.Params, "requestState"); f.answers && state != nil && !consent.Answers(f.request.Params) {
		params = jsonscan.AppendMember(params, "requestState", state)
		if answers := jsonscan.Member(f.request.Params, "inputResponses"); answers != nil {
			params = jsonscan.AppendMember(params, "inputResponses", answers)
		}
	}
	observed := observe.Of(ctx).Fresh(t.up.Name, t.exposed, arguments, f.healer != nil)
	defer observed.Took(ctx)
	params, noModel, err := f.s.withContents(observed.In(ctx), f.request, t, append(params, '}'), of)
	origin.NoModel = origin.NoModel || noModel
	if err != nil {
		observed.Failed(err)
		return nil, cache.Origin{NoModel: origin.NoModel}, err
	}
	raw, err := f.s.result(observed.In(ctx), t, f.request, params, noModel)
	observed.Answered(raw, err)
	if f.healer != nil {
		f.healer.made = append(f.healer.made, t.exposed)
	}
	if err == nil && !shape.HasData(raw) {
		raw = frame.Label(raw, t.up.Name) // the agent reads it as it came
	}
	return raw, origin, err
}

// Kept implements [tools.FreshCaller].
func (f freshCaller) Kept(ctx context.Context, id cache.ID) { observe.Of(ctx).Kept(id) }

// mayAct asks the person at the client whether proxy_* may call a tool.
// Question, if not nil, is the result of the request.
func (s *Server) mayAct(ctx context.Context, r *session.Request, t target, arguments json.RawMessage) (said consent.Answer, question json.RawMessage, err error) {
	said, question, err = s.consent.Ask(ctx, r, consent.Question{Tool: t.exposed, Server: t.up.Name, Conn: t.up.ID, Kind: t.up.Name + " " + cmp.Or(t.up.Kind, t.up.ID), Arguments: arguments})
	if said == consent.Agreed || said == consent.Declined {
		s.logger.Debug("a person was asked whether "+r.Name+" may call a tool", "server", t.up.Name, "tool", t.exposed, "agreed", said == consent.Agreed)
	}
	return said, question, err
}

// notFresh is why a tool is not called, and the way to go.
func notFresh(t target, said consent.Answer) error {
	text := t.exposed + " is not known to be read-only, so proxy_* tools do not call it"
	switch said {
	case consent.Declined:
		text = "the person declined: proxy_* tools may not call " + t.exposed
	case consent.Dismissed:
		text = "the person did not answer whether proxy_* tools may call " + t.exposed
	}
	return &pipeline.Error{
		Code: pipeline.BadArguments, Text: text,
		Hint: fmt.Sprintf("call %s directly and use the cache_id of its reply", t.exposed),
	}
}

// declined is why a call that a person was asked about is not made.
func declined(t target, said consent.Answer) error {
	text := "the person who was asked does not want " + t.exposed + " to be called"
	if said == consent.Dismissed {
		text = "the person who was asked whether " + t.exposed + " may be called did not say"
	}
	return &pipeline.Error{Code: pipeline.BadArguments, Text: text, Hint: "ask them what to do instead"}
}

// trusts reports whether queries may call a tool without a word from anybody. A hint is
// the server's own word; it counts where the operator trusts that, and as it was pinned:
// a tool that has changed since is not found at all.
func (s *Server) trusts(t target) bool {
	switch s.opts.FreshCalls {
	case FreshAll:
		return true
	case FreshNone:
		return false
	}
	return t.vouched()
}

// vouched reports whether the operator answers for calls of a tool that nobody is asked about:
// its name is in a list of theirs, or its hint is trusted.
func (t target) vouched() bool {
	return rights.Match(t.up.Fresh, t.tool.Name) || t.onlyReads()
}

// onlyReads reports whether the tool says that it only reads, and is trusted to say so.
func (t target) onlyReads() bool { return t.up.TrustHints && t.readOnly() }

// A freshOffer is what proxy_* can call for a client.
type freshOffer struct {
	any      bool // some tool
	readOnly bool // and none that is not known to only read
}

// freshOffer depends on the configuration, on what the client can be asked, and on which
// tools it may use. A server that has not listed its tools yet may have some to trust.
func (s *Server) freshOffer(r *session.Request) freshOffer {
	switch s.opts.FreshCalls {
	case FreshAll:
		return freshOffer{any: true}
	case FreshNone:
		return freshOffer{readOnly: true}
	}
	asks := s.opts.FreshCalls == FreshAsk && consent.CanBeAsked(r)
	o := freshOffer{any: asks, readOnly: !asks}
	for _, up := range s.upstreams() {
		o.any = o.any || (len(up.Fresh) > 0 || up.TrustHints) && !up.listed()
		o.readOnly = o.readOnly && len(up.Fresh) == 0
	}
	v := s.viewOf(r)
	if l, err := s.listing(); err == nil && !o.any {
		o.any = slices.ContainsFunc(l.trusted, func(t target) bool { return v.tool(t.up, t.tool.Name) })
	}
	return o
}
