package middleware

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/session"
)

// A task is known by its ID alone, of 2025-11-25 as of the extension for 2026-07-28. It
// belongs to the party that the server gave it to, see relay/handles.go.

// taskRequest answers a request about one task, by the server that gave it.
func (s *Server) taskRequest(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	up := s.only()
	if up == nil {
		given := s.relay.GivenTask(r.Session.Party, jsonscan.StringMember(r.Params, "taskId"))
		for _, other := range s.upstreams() {
			if other.server == given {
				up = other
			}
		}
	}
	if up == nil || !s.viewOf(r).server(up) {
		return nil, relay.NoTask()
	}
	return s.pass(ctx, up, r, false)
}

// unknown answers a request that may be about anything: it passes where there is one server
// and one agent, which may use all of it, that use the same connection.
func (s *Server) unknown(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	up := s.viewOf(r).only()
	if up == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
			Message: fmt.Sprintf("unknown method %q: the proxy cannot tell which of several servers it is for", clipped(r.Method))}
	}
	return s.pass(ctx, up, r, r.Method != "tasks/list")
}

// pass sends a request as it came. It may be about any tool, as tasks/result is.
func (s *Server) pass(ctx context.Context, up *Upstream, r *session.Request, unknown bool) (json.RawMessage, error) {
	raw, err := s.send(ctx, up, relay.Sending{Request: r, Params: r.Params, Timeout: up.Policy.Timeout, Unknown: unknown, Hide: s.hider(up, up.allHidden(), r.Method)})
	return frame.Label(raw, up.Name), err
}
