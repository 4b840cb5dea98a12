package middleware

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/wire"
)

// A request is what a client asks, its params as they came.
type request struct {
	client *client
	method string
	params json.RawMessage // nil: none

	token  json.RawMessage // of its progress, or nil
	origin string          // see [Origin]

	// Of revision 2026-07-28, whose requests say themselves what others say once:
	stateless bool
	level     string          // of log messages; "" is none at all
	can       json.RawMessage // what the client can be asked, or nil
	who       json.RawMessage // who it says it is, or nil

	// Of tools/call:
	name string
	args json.RawMessage // nil: none
}

// newRequest slices params. Members of the wrong type are errors; what only the
// server understands is left to it.
func newRequest(c *client, method string, params json.RawMessage) (*request, error) {
	r := &request{client: c, method: method, params: params}
	if len(params) == 0 || string(params) == "null" {
		r.params = nil
		params = json.RawMessage("{}")
	}
	if params[0] != '{' {
		return nil, invalidParams("params is no object")
	}
	err := jsonscan.Members(params, func(key string, value json.RawMessage) error {
		switch {
		case key == "_meta" && value[0] == '{':
			return jsonscan.Members(value, r.readMeta)
		case key == "name" && method == "tools/call":
			if value[0] != '"' {
				return invalidParams("name is no string")
			}
			return json.Unmarshal(value, &r.name)
		case key == "arguments":
			r.args = value
		}
		return nil
	})
	if err == nil && method == "tools/call" && r.name == "" {
		err = invalidParams("no name")
	}
	return r, err
}

// readMeta reads a member of _meta.
func (r *request) readMeta(key string, value json.RawMessage) error {
	switch {
	case key == "progressToken" && value[0] != 'n':
		r.token = value
	case key == mcp.MetaKeyClientCapabilities:
		r.can = value
	case key == mcp.MetaKeyClientInfo:
		r.who = value
	case key == mcp.MetaKeyProtocolVersion:
		r.stateless = true
	case key == metaLogLevel && value[0] == '"':
		if err := json.Unmarshal(value, &r.level); err != nil {
			return err
		}
		return checkLevel(r.level)
	}
	return nil
}

func invalidParams(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// ours are the requests that the SDK answers, with our help: they are about the
// session itself.
var ours = map[string]bool{
	"initialize":            true,
	"ping":                  true,
	"server/discover":       true,
	"subscriptions/listen":  true,
	"resources/subscribe":   true,
	"resources/unsubscribe": true,
	"logging/setLevel":      true,
}

// Forwards reports whether requests of this method must reach the SDK as
// [wire.ForwardMethod]. Transports that are not our own ask.
func Forwards(method string) bool { return !ours[method] }

// longParams are worth giving their memory back to the system for, in bytes.
const longParams = 1 << 20

// forwarded answers every request that is not the SDK's.
func (s *Server) forwarded(ctx context.Context, session *mcp.ServerSession, p *wire.Forwarded) (*wire.RawResult, error) {
	hold := s.budget.Hold()
	defer hold.Release()
	ctx = wire.WithHold(ctx, hold)
	if p.Origin != "" {
		ctx = context.WithValue(ctx, originKey{}, p.Origin)
	}
	if len(p.Params) > longParams {
		defer s.budget.Used()
	}
	c := s.clientOf(session)
	c.opening.end()
	r, err := newRequest(c, p.Method, p.Params)
	if err != nil {
		return nil, err
	}
	r.origin = p.Origin
	if r.stateless {
		c.states(r.can)
		s.firstCame(c.says(), r.who, true)
		s.mu.Lock()
		c.level = noLevel
		s.mu.Unlock()
	}
	raw, err := s.safely(ctx, r)
	var splices *wire.Splices
	if c.link != nil {
		splices = c.link.Splices()
	}
	if err != nil {
		return nil, wire.Shield(err, splices)
	}
	return &wire.RawResult{Bytes: raw, Splice: splices}, nil
}

// safely is answerTo for requests that meet a fault of ours: it costs that one
// request.
func (s *Server) safely(ctx context.Context, r *request) (raw json.RawMessage, err error) {
	if r.method != "tools/call" {
		defer s.survive(&err, "method", r.method)
		return s.answerTo(ctx, r)
	}
	defer func() {
		if v := recover(); v != nil {
			raw, err = s.failure(r.name, panicked(v))
		}
	}()
	return s.answerTo(ctx, r)
}

// answerTo routes one request.
func (s *Server) answerTo(ctx context.Context, r *request) (json.RawMessage, error) {
	switch r.method {
	case "tools/list":
		return s.listTools(ctx, r)
	case "tools/call":
		return s.callTool(ctx, r)
	case "prompts/list":
		return s.listPrompts(ctx, r)
	case "prompts/get":
		return s.getPrompt(ctx, r)
	case "resources/list":
		return s.listResources(ctx, r, "resources", "uri")
	case "resources/templates/list":
		return s.listResources(ctx, r, "resourceTemplates", "uriTemplate")
	case "resources/read":
		return s.readResource(ctx, r)
	case "completion/complete":
		return s.complete(ctx, r)
	}
	if len(s.opts.Upstreams) == 1 {
		// It may be about any tool, as tasks/result is.
		up := &s.opts.Upstreams[0]
		return s.pass(ctx, up, up.hidesAll(), r, r.params)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
		Message: fmt.Sprintf("method %q is not known, and several servers could be meant", clipped(r.method))}
}
