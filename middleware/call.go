package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"rlmproxy/cache"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// callTool answers one tools/call.
func (s *Server) callTool(ctx context.Context, r *request) (json.RawMessage, error) {
	var raw json.RawMessage
	var err error
	if s.tools.Has(r.name) {
		raw, err = s.tools.Call(ctx, r.client.agent, r.name, r.args, freshCaller{s, r})
	} else {
		raw, err = s.callUpstream(ctx, r)
	}
	if err != nil && ctx.Err() == context.Canceled {
		return nil, context.Canceled // nobody waits; the cause may be how its connection ended
	}
	if err != nil {
		return s.failure(r.name, err)
	}
	return raw, nil
}

// callUpstream calls a tool of a server and shapes its result.
func (s *Server) callUpstream(ctx context.Context, r *request) (json.RawMessage, error) {
	t, err := s.find(ctx, r.name)
	if err != nil {
		return nil, err
	}
	params, err := renamed(r.params, t.tool.Name)
	if err != nil {
		return nil, err
	}
	raw, err := s.result(ctx, t, r, params)
	if err != nil {
		return nil, err
	}
	origin := cache.Origin{Tool: t.exposed, Arguments: r.args}
	return s.shaper.ToolResult(r.client.agent, origin, raw, t.up.policy(t.tool.Name).shaping())
}

// find returns the tool of an exposed name. A name that is not known yet may be
// one of a server that is still connecting.
func (s *Server) find(ctx context.Context, name string) (target, error) {
	var t target
	meant := func(up *Upstream) bool { return strings.HasPrefix(name, clean(up.Prefix)) }
	if s.until(ctx, meant, func() (ok bool) { t, ok = s.names.find(name); return ok }) {
		return t, nil
	}
	return target{}, s.unknownTool(name)
}

// maxDown bounds how many servers an error names that may have had the tool.
const maxDown = 3

// unknownTool is why there is no tool of this name: perhaps its server is not
// there.
func (s *Server) unknownTool(name string) error {
	e := &pipeline.Error{Code: codeUnknownTool, Text: fmt.Sprintf("no tool %q", show.ClipBytes(name, 80))}
	var away []string
	here := false // the server that the name begins with
	for i := range s.opts.Upstreams {
		up := &s.opts.Upstreams[i]
		begins := up.Prefix != "" && strings.HasPrefix(name, clean(up.Prefix)+"_")
		state, err := up.Conn.State()
		if state == upstream.Ready {
			here = here || begins
			continue
		}
		listed := up.Conn.Info() != nil
		if err == nil {
			err = errConnecting
		}
		gone := &upstream.UnavailableError{Server: up.Name, Err: err}
		if begins || len(s.opts.Upstreams) == 1 && !listed {
			return gone
		}
		away = append(away, show.ClipBytes(gone.Error(), 300))
	}
	if !here && len(away) > 0 {
		e.Text += "; " + strings.Join(away[:min(len(away), maxDown)], "; ")
		if more := len(away) - maxDown; more > 0 {
			e.Text += fmt.Sprintf("; nor are %d other servers", more)
		}
	}
	type near struct {
		name string
		dist int
	}
	var all []near
	if strings.HasPrefix(name, "proxy_") {
		all = append(all, near{"proxy_search", 0}, near{"proxy_filter", 0}, near{"proxy_explore", 0})
	}
	for _, t := range s.names.all() {
		if len(name) <= 2*maxName {
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

// result is what the tool answers to params, without what its operator hides.
func (s *Server) result(ctx context.Context, t target, r *request, params json.RawMessage) (json.RawMessage, error) {
	p := t.up.policy(t.tool.Name)
	raw, err := s.send(ctx, t.up, r, params, p)
	if err != nil {
		return nil, s.hideInError(ctx, err, p)
	}
	return s.hide(ctx, raw, p)
}

// pass sends a request that is not about a tool on to a server, and returns its
// answer without what p hides.
func (s *Server) pass(ctx context.Context, up *Upstream, p Policy, r *request, params json.RawMessage) (json.RawMessage, error) {
	raw, err := s.send(ctx, up, r, params, p)
	if err != nil {
		return nil, protocolError(s.hideInError(ctx, err, p))
	}
	return s.hide(ctx, raw, p)
}

// send sends a request of a client to a server, with these params, and its progress
// back.
func (s *Server) send(ctx context.Context, up *Upstream, r *request, params json.RawMessage, p Policy) (json.RawMessage, error) {
	if !r.stateless {
		return s.run(ctx, up, r, params, p, nil)
	}
	h, err := s.resume(up, r, params)
	if err != nil {
		return nil, err
	}
	if h == nil {
		h = s.hold(ctx, up, r, params, func(ctx context.Context, h *held) (json.RawMessage, error) {
			// Whoever takes the result, what its own policy hides stays hidden.
			raw, err := s.run(ctx, up, r, params, p, h)
			if err != nil {
				return nil, err
			}
			return s.hide(ctx, raw, p)
		})
	}
	return s.await(ctx, h)
}

// run is send without regard to revisions: h is the held request that r began, or
// nil. Progress goes to the request that waits now.
func (s *Server) run(ctx context.Context, up *Upstream, r *request, params json.RawMessage, p Policy, h *held) (json.RawMessage, error) {
	timeout := p.Timeout
	setDefault(&timeout, s.opts.CallTimeout)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := newCallTimer(timeout, cancel)
	defer timer.stop()
	ctx, done := s.begin(ctx, up, r.client, timer, h)
	defer done()
	req := upstream.Request{Method: r.method, Params: params, Newest: r.stateless}
	if !req.Newest {
		req.Can, req.Level = r.client.says(), s.levelOf(r.client)
	}
	if r.token != nil { // a server that is not asked does not report
		req.Progress = func(params json.RawMessage) {
			defer s.survive(nil)
			timer.again()
			now := r
			if h != nil {
				now = h.current()
			}
			if kept, err := s.hide(ctx, params, p); err == nil {
				s.progressed(ctx, now, kept)
			}
		}
	}
	conn, release, err := s.connTo(ctx, up, r.client)
	if err != nil {
		return nil, err
	}
	defer release()
	var raw json.RawMessage
	if req.Newest {
		s.raise(ctx, up, conn, r)
		raw, err = conn.Call(ctx, req)
	} else {
		raw, err = s.rounds(ctx, up, conn, req)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return raw, err
}
