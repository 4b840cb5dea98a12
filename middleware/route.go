package middleware

import (
	"context"
	"encoding/json"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/session"
)

// longParams are worth giving their memory back to the system for, in bytes.
const longParams = 1 << 20

// request answers a request of a client that is not about the session itself.
func (s *Server) request(ctx context.Context, r *session.Request) (raw json.RawMessage, err error) {
	if raw, done, err := s.elsewhere(ctx, r); done {
		return raw, err
	}
	return s.here(ctx, r, s.route)
}

// here answers a request at this replica, by do.
func (s *Server) here(ctx context.Context, r *session.Request, do func(context.Context, *session.Request) (json.RawMessage, error)) (raw json.RawMessage, err error) {
	ctx, observed := s.watch.Begin(ctx, r)
	defer func() { observed.End(ctx, raw, err) }()
	counted := s.calls
	if r.Method == "subscriptions/listen" { // which waits for as long as its client listens
		counted = s.streams
	}
	done, err := counted.Begin(r.Session.Party)
	if err != nil {
		return s.busy(ctx, r, err)
	}
	defer done()
	hold := s.budget.Hold(r.Session.Party)
	defer hold.Release()
	observed.Holds(hold)
	ctx = guard.WithHold(ctx, hold)
	if len(r.Params) > longParams {
		defer s.budget.Used()
	}
	if r.Stateless {
		s.first.note(r)
	}
	return do(ctx, r)
}

// busy refuses a request, which an agent reads where it called a tool.
func (s *Server) busy(ctx context.Context, r *session.Request, err error) (json.RawMessage, error) {
	if r.Method == "tools/call" {
		return s.failure(ctx, r.Name, err)
	}
	observe.Of(ctx).Failed(err)
	return nil, protocolError(err)
}

// route finds what a request is for.
func (s *Server) route(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	switch r.Method {
	case "tools/list":
		return s.listTools(ctx, r)
	case "tools/call":
		return s.callTool(ctx, r)
	case "prompts/list":
		return s.listPrompts(ctx, r)
	case "prompts/get":
		return s.getPrompt(ctx, r)
	case "resources/list":
		list, err := s.listResources(ctx, r, "resources", "uri")
		if err != nil {
			return nil, err
		}
		return s.withStats(r, list)
	case "resources/templates/list":
		return s.listResources(ctx, r, "resourceTemplates", "uriTemplate")
	case "resources/read":
		return s.readResource(ctx, r)
	case "resources/subscribe":
		uri := jsonscan.Member(r.Params, "uri")
		if len(uri) == 0 || uri[0] != '"' {
			return nil, session.InvalidParams("uri is not a string")
		}
		return empty, s.subscribe(ctx, r, r.Session, jsonscan.Unquote(uri))
	case "resources/unsubscribe":
		return empty, s.relay.Unsubscribe(ctx, r.Session, r.Session, stringOf(r.Params, "uri"))
	case "subscriptions/listen":
		return s.listen(ctx, r)
	case "logging/setLevel":
		return empty, s.relay.SetLevel(ctx, r.Session, stringOf(r.Params, "level"))
	case "completion/complete":
		return s.completeArgument(ctx, r)
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/update":
		return s.taskRequest(ctx, r)
	}
	return s.unknown(ctx, r)
}

var empty = json.RawMessage("{}")

// forward sends a request that is not about a tool to a server, with these params, and
// returns its answer without the hidden fields.
func (s *Server) forward(ctx context.Context, up *Upstream, hidden []string, r *session.Request, params json.RawMessage) (json.RawMessage, error) {
	return s.send(ctx, up, relay.Sending{Request: r, Params: params, Timeout: up.Policy.Timeout, Hide: s.hider(up, hidden, r.Method)})
}

// send sends a request that is not about a tool, and is observed.
func (s *Server) send(ctx context.Context, up *Upstream, m relay.Sending) (json.RawMessage, error) {
	o := observe.Of(ctx)
	var err error
	if m.Params, err = o.Traced(m.Params); err != nil {
		return nil, err
	}
	raw, err := up.server.Send(ctx, m)
	o.Reached(up.Name, "")
	o.Answered(raw, err)
	return raw, protocolError(err)
}
