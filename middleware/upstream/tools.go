package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/wire"
)

// Bounds on what one server may offer: a hostile list must not grow for ever.
const (
	maxTools = 2000
	maxPages = 200
)

// listTools reads the whole list, page by page. A definition that would make
// clients refuse the list of all servers is logged and left out.
func (u *Upstream) listTools(ctx context.Context, l link) ([]Tool, error) {
	var tools []Tool
	seen := map[string]bool{}
	cursor := ""
	for range maxPages {
		params := map[string]json.RawMessage{}
		if cursor != "" {
			params["cursor"], _ = json.Marshal(cursor)
		}
		raw, err := encodeParams(params, l.Meta())
		if err != nil {
			return nil, err
		}
		result, err := l.Call(ctx, "tools/list", raw)
		if methodNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		cursor = ""
		err = wire.Members(result, func(key string, value json.RawMessage) error {
			switch key {
			case "nextCursor":
				if json.Unmarshal(value, &cursor) != nil {
					u.logger.Warn("tools/list: nextCursor is no string")
				}
			case "tools":
				if value[0] != '[' {
					u.logger.Warn("tools/list: tools is no array")
					return nil
				}
				return wire.Elements(value, func(raw json.RawMessage) error {
					name, err := checkTool(raw)
					switch {
					case err == nil && seen[name]:
						err = errors.New("a second tool of this name")
					case err == nil && len(tools) == maxTools:
						err = fmt.Errorf("more than %d tools", maxTools)
					}
					if err != nil {
						u.logger.Warn("tool left out", "tool", name, "error", err)
						return nil
					}
					seen[name] = true
					tools = append(tools, Tool{name, raw})
					return nil
				})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		if cursor == "" {
			return tools, nil
		}
	}
	return nil, fmt.Errorf("tools/list: more than %d pages", maxPages)
}

// checkTool returns a definition's name, and an error for what the schema of the
// MCP specification does not allow and strict clients refuse. raw is valid JSON
// no deeper than [wire.MaxDepth].
func checkTool(raw json.RawMessage) (name string, err error) {
	t := gjson.GetManyBytes(raw, "name", "inputSchema.type", "title", "description", "annotations")
	name = t[0].String()
	switch {
	case t[0].Type != gjson.String || name == "":
		err = errors.New("no name")
	case t[1].String() != "object":
		err = errors.New(`inputSchema is not of "type":"object"`)
	case t[2].Exists() && t[2].Type != gjson.String, t[3].Exists() && t[3].Type != gjson.String:
		err = errors.New("title or description is no string")
	case t[4].Exists() && !t[4].IsObject():
		err = errors.New("annotations are no object")
	}
	return name, err
}

// A ToolCall is one tools/call.
type ToolCall struct {
	Name      string
	Arguments json.RawMessage            // nil: none
	Meta      map[string]json.RawMessage // the client's _meta without progressToken; nil: none
	// Progress receives the params of the call's progress notifications, one
	// after the other, all before CallTool returns. Nil asks for none.
	Progress func(params json.RawMessage)
}

// CallTool calls one of the server's tools and returns the raw result, an object.
// While the server connects for the first time or is being restarted the call
// waits; while it has failed the call fails at once.
//
// Errors: *[jsonrpc.Error] as the server sent it, *[UnavailableError], or ctx's
// cause.
func (u *Upstream) CallTool(ctx context.Context, call ToolCall) (json.RawMessage, error) {
	l, err := u.ready(ctx)
	if err != nil {
		return nil, err
	}
	meta := map[string]json.RawMessage{}
	for _, m := range []map[string]json.RawMessage{call.Meta, l.Meta()} {
		for k, v := range m {
			meta[k] = v
		}
	}
	if call.Progress != nil {
		token, done := u.follow(call.Progress)
		defer done()
		meta["progressToken"] = json.RawMessage(strconv.Quote(token))
	}
	name, err := json.Marshal(call.Name)
	if err != nil {
		return nil, err
	}
	params := map[string]json.RawMessage{"name": name}
	if call.Arguments != nil {
		params["arguments"] = call.Arguments
	}
	raw, err := encodeParams(params, meta)
	if err != nil {
		return nil, err
	}
	return u.call(ctx, l, "tools/call", raw)
}

// encodeParams writes the members with their bytes as they are; json.Marshal
// would escape and compact the client's arguments.
func encodeParams(params, meta map[string]json.RawMessage) (json.RawMessage, error) {
	out := []byte{'{'}
	for _, key := range []string{"name", "arguments", "cursor"} {
		if v, ok := params[key]; ok {
			out = wire.AppendMember(out, key, v)
		}
	}
	if len(meta) > 0 {
		b, err := json.Marshal(meta)
		if err != nil {
			return nil, err
		}
		out = wire.AppendMember(out, "_meta", b)
	}
	return append(out, '}'), nil
}

// progressBacklog is how many notifications may wait for a slow client; more
// are dropped, since each one replaces the last.
const progressBacklog = 16

// follow registers a token for a call's progress. done unregisters it and
// returns when everything received has been passed on.
func (u *Upstream) follow(f func(json.RawMessage)) (token string, done func()) {
	ch := make(chan json.RawMessage, progressBacklog)
	u.mu.Lock()
	u.seq++
	token = "rlm-" + strconv.FormatInt(u.seq, 10)
	u.progress[token] = ch
	u.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {
		for params := range ch {
			f(params)
		}
	})
	return token, func() {
		u.mu.Lock()
		delete(u.progress, token)
		close(ch)
		u.mu.Unlock()
		wg.Wait()
	}
}

func (u *Upstream) onProgress(params json.RawMessage) {
	var token string
	_ = wire.Members(params, func(key string, value json.RawMessage) error {
		if key == "progressToken" {
			return json.Unmarshal(value, &token)
		}
		return nil
	})
	u.mu.Lock()
	defer u.mu.Unlock()
	if ch, ok := u.progress[token]; ok {
		select {
		case ch <- params:
		default:
		}
	}
}
