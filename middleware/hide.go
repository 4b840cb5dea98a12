package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/pipeline"
)

// hide takes the fields out of a result that its tool's policy never shows:
// before it is counted, cached or passed on, so that no later call can show
// them. A result that has none keeps its bytes. Where the search does not end
// in time, nothing of the result is shown.
func (s *Server) hide(ctx context.Context, raw json.RawMessage, p Policy) (json.RawMessage, error) {
	return s.hideIn(ctx, raw, p, ofProtocol)
}

// hideIn is hide for an object of which the protocol defines what known says.
func (s *Server) hideIn(ctx context.Context, raw json.RawMessage, p Policy, known func(at []string, key string) bool) (json.RawMessage, error) {
	if len(p.Hide) == 0 {
		return raw, nil
	}
	fields, err := pipeline.NewHide(p.Hide)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.QueryTimeout)
	defer cancel()
	return fields.Value(ctx, raw, known)
}

// hideTold is hide for the params of a notification.
func (s *Server) hideTold(ctx context.Context, params json.RawMessage, p Policy) (json.RawMessage, error) {
	if len(params) == 0 {
		return params, nil
	}
	return s.hideIn(ctx, params, p, func(at []string, key string) bool {
		return len(at) == 0 && (key == "level" || key == "logger" || key == "data")
	})
}

// hideInError is hide for an upstream's own JSON-RPC error. Other errors are
// ours.
func (s *Server) hideInError(ctx context.Context, err error, p Policy) error {
	var rpc *jsonrpc.Error
	if len(p.Hide) == 0 || !errors.As(err, &rpc) {
		return err
	}
	fields, bad := pipeline.NewHide(p.Hide)
	if bad != nil {
		return bad
	}
	message, bad := fields.Text(ctx, []byte(rpc.Message))
	if bad != nil {
		return bad
	}
	data := []byte(rpc.Data)
	if len(data) > 0 {
		if data, bad = fields.Value(ctx, data, nil); bad != nil {
			return bad
		}
	}
	return &jsonrpc.Error{Code: rpc.Code, Message: string(message), Data: data}
}

// protocolKeys are the members of a result that the protocol defines, by the
// keys to where they are. Without them a result is none, whatever an operator
// hides; what they hold is searched all the same.
var protocolKeys = map[string][]string{
	"":                 {"content", "structuredContent", "isError", "_meta", "resultType", "progressToken", "progress", "total", "message"},
	"content":          {"type", "text", "data", "mimeType", "resource", "uri", "name", "title", "description", "size", "annotations", "icons", "_meta"},
	"content.resource": {"uri", "mimeType", "text", "blob", "_meta"},
}

func ofProtocol(at []string, key string) bool {
	if len(at) > 2 {
		return false
	}
	where := ""
	for i, k := range at {
		if i > 0 {
			where += "."
		}
		where += k
	}
	return slices.Contains(protocolKeys[where], key)
}
