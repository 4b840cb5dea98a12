package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/cache"
	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/wire"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// callTool answers one tools/call.
func (s *Server) callTool(ctx context.Context, req *mcp.CallToolRequest) (json.RawMessage, error) {
	name := req.Params.Name
	agent := s.clientOf(req.Session).agent
	var raw json.RawMessage
	var err error
	if run, ok := s.queries()[name]; ok {
		raw, err = run(ctx, agent, req)
	} else {
		raw, err = s.callUpstream(ctx, agent, req)
	}
	if err != nil {
		return s.failure(name, err)
	}
	return raw, nil
}

func (s *Server) callUpstream(ctx context.Context, agent string, req *mcp.CallToolRequest) (json.RawMessage, error) {
	t, err := s.find(ctx, req.Params.Name)
	if err != nil {
		return nil, err
	}
	raw, err := s.result(ctx, t, req, req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	origin := cache.Origin{Tool: t.exposed, Arguments: req.Params.Arguments}
	return s.shape(agent, origin, raw, t.up.policy(t.tool.Name))
}

// find returns the tool of an exposed name. A name that is not known yet may be
// one of a server that is still connecting.
func (s *Server) find(ctx context.Context, name string) (target, error) {
	if t, ok := s.names.find(name); ok {
		return t, nil
	}
	for i := range s.opts.Upstreams {
		up := &s.opts.Upstreams[i]
		state, _ := up.Conn.State()
		if state != upstream.Connecting || !strings.HasPrefix(name, clean(up.Prefix)) {
			continue
		}
		wait, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
		up.Conn.Settled(wait)
		cancel()
		if t, ok := s.names.find(name); ok {
			return t, nil
		}
	}
	return target{}, s.unknownTool(name)
}

func (s *Server) unknownTool(name string) error {
	e := &pipeline.Error{Code: codeUnknownTool, Text: fmt.Sprintf("no tool %q", show.ClipBytes(name, 80))}
	for i := range s.opts.Upstreams {
		up := &s.opts.Upstreams[i]
		state, err := up.Conn.State()
		if state != upstream.Ready && up.Prefix != "" && strings.HasPrefix(name, clean(up.Prefix)+"_") {
			e.Code = codeUnavailable
			e.Text = fmt.Sprintf("server %q has not listed its tools yet: it is still connecting", up.Name)
			if err != nil {
				e.Text = fmt.Sprintf("server %q is not available: %v", up.Name, err)
			}
			e.Hint = "it is started again by itself; try later, or use other tools"
			return e
		}
	}
	type near struct {
		name string
		dist int
	}
	var all []near
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

// result is what the tool answers, without what its operator hides.
func (s *Server) result(ctx context.Context, t target, req *mcp.CallToolRequest, args json.RawMessage) (json.RawMessage, error) {
	p := t.up.policy(t.tool.Name)
	raw, err := s.forward(ctx, t, req, args)
	if err != nil {
		return nil, s.hideInError(ctx, err, p)
	}
	return s.hide(ctx, raw, p)
}

// forward sends the call to the tool's server, with the client's _meta, and its
// progress back.
func (s *Server) forward(ctx context.Context, t target, req *mcp.CallToolRequest, args json.RawMessage) (json.RawMessage, error) {
	timeout := t.up.policy(t.tool.Name).Timeout
	setDefault(&timeout, s.opts.CallTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w after %v", errTimeout, timeout))
	defer cancel()
	call := upstream.ToolCall{Name: t.tool.Name, Arguments: args}
	for key, v := range req.Params.Meta {
		if key == "progressToken" || strings.HasPrefix(key, "io.modelcontextprotocol/") {
			continue // ours to set, for each hop
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if call.Meta == nil {
			call.Meta = map[string]json.RawMessage{}
		}
		call.Meta[key] = b
	}
	if token := req.Params.GetProgressToken(); token != nil {
		policy := t.up.policy(t.tool.Name)
		call.Progress = func(params json.RawMessage) {
			if kept, err := s.hide(ctx, params, policy); err == nil {
				s.progress(ctx, req.Session, token, kept)
			}
		}
	}
	raw, err := t.up.Conn.CallTool(ctx, call)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return raw, err
}

// progress passes a notification on under the client's own token.
func (s *Server) progress(ctx context.Context, session *mcp.ServerSession, token any, params json.RawMessage) {
	own, err := json.Marshal(token)
	if err != nil {
		return
	}
	out, err := wire.Rewrite(params, func(key string, value json.RawMessage) json.RawMessage {
		if key == "progressToken" {
			return own
		}
		return value
	})
	if conn := s.clientOf(session).conn; err == nil && conn != nil {
		_ = conn.Notify(ctx, "notifications/progress", out) // the call itself will tell of a lost client
	}
}
