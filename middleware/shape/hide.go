package shape

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/pipeline"
)

// Hide takes fields out of a result that no agent gets to see: before it is
// counted, cached or passed on, so that no later call can show them. A result that
// has none keeps its bytes. Where the search does not end in time, nothing of the
// result is shown.
func (s *Shaper) Hide(ctx context.Context, raw json.RawMessage, fields []string) (json.RawMessage, error) {
	return s.hide(ctx, raw, fields, ofProtocol)
}

// HideInNotification is Hide for the params of a notification.
func (s *Shaper) HideInNotification(ctx context.Context, params json.RawMessage, fields []string) (json.RawMessage, error) {
	if len(params) == 0 {
		return params, nil
	}
	return s.hide(ctx, params, fields, func(at []string, key string) bool {
		return len(at) == 0 && (key == "level" || key == "logger" || key == "data")
	})
}

// hide is Hide for an object of which the protocol defines the keys that known
// reports, found at a path of keys.
func (s *Shaper) hide(ctx context.Context, raw json.RawMessage, fields []string, known func(at []string, key string) bool) (json.RawMessage, error) {
	if len(fields) == 0 {
		return raw, nil
	}
	hidden, err := pipeline.NewHide(fields)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.QueryTimeout)
	defer cancel()
	return hidden.Value(ctx, raw, known)
}

// HideInError is Hide for an upstream's own JSON-RPC error. Other errors are ours.
func (s *Shaper) HideInError(ctx context.Context, err error, fields []string) error {
	var rpc *jsonrpc.Error
	if len(fields) == 0 || !errors.As(err, &rpc) {
		return err
	}
	hidden, bad := pipeline.NewHide(fields)
	if bad != nil {
		return bad
	}
	message, bad := hidden.Text(ctx, []byte(rpc.Message))
	if bad != nil {
		return bad
	}
	data := []byte(rpc.Data)
	if len(data) > 0 {
		if data, bad = hidden.Value(ctx, data, nil); bad != nil {
			return bad
		}
	}
	return &jsonrpc.Error{Code: rpc.Code, Message: string(message), Data: data}
}

// protocolKeys are the members of a result that the protocol defines, by the keys
// to where they are. An operator cannot hide them, or it would be no result; what
// they hold is searched all the same.
var protocolKeys = map[string][]string{
	"":                 {"content", "structuredContent", "isError", "_meta", "resultType", "progressToken", "progress", "total", "message"},
	"content":          {"type", "text", "data", "mimeType", "resource", "uri", "name", "title", "description", "size", "annotations", "icons", "_meta"},
	"content.resource": {"uri", "mimeType", "text", "blob", "_meta"},
}

func ofProtocol(at []string, key string) bool {
	return len(at) <= 2 && slices.Contains(protocolKeys[strings.Join(at, ".")], key)
}
