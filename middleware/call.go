package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"rlmproxy/cache"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// callTool answers one tools/call. A fault of ours costs that one call.
func (s *Server) callTool(ctx context.Context, r *session.Request) (raw json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			raw, err = s.failure(ctx, r.Name, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		}
	}()
	if s.tools.Has(r.Name) {
		raw, err = s.callOwn(ctx, r)
		if !tools.Calls(r.Name) {
			s.seenBy(r).Note("")
		}
	} else {
		raw, err = unlessRetired(func() (json.RawMessage, error) { return s.callUpstream(ctx, r, nil) })
	}
	if err != nil && ctx.Err() == context.Canceled {
		return nil, context.Canceled // nobody waits; the cause may be how its connection ended
	}
	if err != nil {
		return s.failure(ctx, r.Name, err)
	}
	return raw, nil
}

// A check is an error for a call that is not to be made, or the question on which that
// depends, which is the result of the request.
type check func(ctx context.Context, t target, params json.RawMessage) (question json.RawMessage, err error)

// unlessRetired makes a call until it reaches a server that was not replaced before it got it.
func unlessRetired(call func() (json.RawMessage, error)) (raw json.RawMessage, err error) {
	for {
		if raw, err = call(); !errors.Is(err, relay.ErrRetired) {
			return raw, err
		}
	}
}

// callUpstream calls a tool of a server and shapes its result. A check that is nil passes.
func (s *Server) callUpstream(ctx context.Context, r *session.Request, c check) (json.RawMessage, error) {
	t, err := s.find(ctx, s.viewOf(r), r.Name)
	if err != nil {
		return nil, err
	}
	observed := observe.Of(ctx)
	observed.Reached(t.up.Name, t.exposed)
	params, err := renamed(r.Params, t.tool.Name)
	if err != nil {
		return nil, err
	}
	params, noModel, err := s.withContents(ctx, r, t, params, nil)
	if err != nil {
		return nil, err
	}
	if c != nil {
		if question, err := c(ctx, t, params); question != nil || err != nil {
			return question, err
		}
	}
	raw, err := s.result(ctx, t, r, params, noModel)
	if err != nil {
		return nil, err
	}
	observed.Answered(raw, nil)
	origin := t.origin(r.Arguments)
	origin.NoModel = origin.NoModel || noModel
	policy := t.up.policy(t.tool.Name).shaping(t.up)
	policy.Seen = s.seenBy(r)
	raw, err = s.shaper.ToolResult(r.Session.Agent, origin, raw, policy)
	return raw, t.called(err)
}

// origin is a call of the tool, as the cache knows it.
func (t target) origin(arguments json.RawMessage) cache.Origin {
	if arguments == nil {
		arguments = json.RawMessage("{}") // which says the same, and nil would be that they are not known
	}
	return cache.Origin{Server: t.up.Name, Tool: t.exposed, Arguments: arguments, ReadOnly: t.readOnly(), NoModel: t.up.NoModel, Terms: t.up.Terms}
}

// find returns the tool of an exposed name that an agent may use. A name that is not known
// yet may be one of a server that is still connecting, and so may be another server's, for
// a while.
func (s *Server) find(ctx context.Context, v view, name string) (target, error) {
	var t target
	s.awaitMade(ctx)
	meant := func(up *Upstream) bool { return strings.HasPrefix(name, clean(up.Prefix)) && v.maybe(up) }
	for {
		found := false
		s.until(ctx, meant, func() bool {
			t, found = s.names.find(name)
			found = found && v.tool(t.up, t.tool.Name)
			return found && !s.names.unsettled(t)
		})
		if found && !t.up.kept() {
			return t, nil
		}
		if !found {
			break
		}
		// What the server offered the last time may have changed, and be held back.
		if err := s.settled(ctx, t); err != nil {
			return target{}, err
		}
	}
	if err := s.heldBack(v, name); err != nil {
		return target{}, err
	}
	return target{}, s.unknownTool(ctx, v, name)
}

// Meant are the servers that a call of a tool of this name may reach: the one that offers
// it, or offered it when it was last seen, else those with such a prefix, else all.
func (s *Server) Meant(name string) (servers []string) {
	if t, ok := s.names.find(name); ok && !s.names.unsettled(t) {
		return []string{t.up.Name}
	}
	for _, up := range s.upstreams() {
		if strings.HasPrefix(name, clean(up.Prefix)) {
			servers = append(servers, up.Name)
		}
	}
	if servers != nil {
		return servers
	}
	for _, up := range s.upstreams() {
		servers = append(servers, up.Name)
	}
	return servers
}

// maxDown bounds how many servers an error names that may have had the tool.
const maxDown = 3

// unknownTool is why there is no tool of this name: perhaps its server is not
// there.
func (s *Server) unknownTool(ctx context.Context, v view, name string) error {
	e := &pipeline.Error{Code: codeUnknownTool, Text: fmt.Sprintf("no tool %q", show.ClipBytes(name, 80))}
	var away []string
	here := false // the server that the name begins with
	mayUse := v.grant.Allows(rights.Name{Listed: name, Bare: name})
	for _, up := range s.upstreams() {
		begins := up.Prefix != "" && strings.HasPrefix(name, clean(up.Prefix)+"_")
		if !v.server(up) && !(mayUse && !up.listed() && (begins || len(s.upstreams()) == 1)) {
			continue
		}
		state, err := up.Conn.State()
		if state == upstream.Ready {
			here = here || begins
			continue
		}
		listed := up.Conn.Info() != nil
		if err == nil {
			err = errConnecting
		}
		gone := s.redactor(up, "").error(ctx, &upstream.UnavailableError{Server: up.Name, Err: err})
		if begins || len(s.upstreams()) == 1 && !listed {
			return gone
		}
		away = append(away, show.ClipBytes(gone.Error(), 200))
	}
	for _, up := range s.upstreams() {
		if left := up.leftOut(); left.N > 0 && v.all() {
			e.Text += fmt.Sprintf("; server %q: %s left out (%s)", up.Name, show.Plural(left.N, "tools"), left.Why)
		}
	}
	if !here && len(away) > 0 {
		e.Text += "; " + strings.Join(away[:min(len(away), maxDown)], "; ")
		if more := len(away) - maxDown; more > 0 {
			e.Text += fmt.Sprintf("; %d other servers are not available either", more)
		}
	}
	type near struct {
		name string
		dist int
	}
	var all []near
	if strings.HasPrefix(name, "proxy_") {
		for _, own := range slices.Backward(tools.Names) {
			all = append(all, near{own, 0})
		}
	}
	for _, t := range s.names.all() {
		if len(name) <= 2*maxName && v.tool(t.up, t.tool.Name) {
			all = append(all, near{t.exposed, levenshtein.ComputeDistance(name, t.exposed)})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.dist - b.dist })
	var names []string
	for _, n := range all[:min(3, len(all))] {
		names = append(names, n.name)
	}
	if names != nil {
		e.Hint = "the nearest names are " + strings.Join(names, ", ")
	}
	return e
}

// result is what the tool answers to params, without what its operator hides. NoModel says that
// params have what is kept from the sub-model.
func (s *Server) result(ctx context.Context, t target, r *session.Request, params json.RawMessage, noModel bool) (json.RawMessage, error) {
	if s.isMade(t) {
		return s.runMade(ctx, t, r, params, noModel)
	}
	p := t.up.policy(t.tool.Name)
	done, err := s.limits.admit(ctx, t.up.Name, p, r.Session.Party, cmp.Or(p.Timeout, s.opts.CallTimeout))
	if err != nil {
		return nil, err
	}
	defer done()
	if params, err = observe.Of(ctx).Traced(params); err != nil {
		return nil, err
	}
	raw, err := t.up.server.Send(ctx, relay.Sending{Request: r, Params: params, Timeout: p.Timeout, Hide: s.hider(t.up, p.Hide, t.tool.Name)})
	return raw, t.called(err)
}
