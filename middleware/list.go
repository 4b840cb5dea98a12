package middleware

import (
	"context"
	"encoding/json"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
)

// listTools returns the result of tools/list: every definition as the upstream
// sent it, under its exposed name.
func (s *Server) listTools(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	s.awaitUpstreams(ctx)
	var items []json.RawMessage
	v := s.viewOf(r)
	for _, t := range s.names.all() {
		if !v.tool(t.up, t.tool.Name) {
			continue
		}
		p := t.up.policy(t.tool.Name)
		keep := (s.opts.PassThrough || !p.shapes()) && len(p.Hide) == 0
		raw, err := exposed(t.tool.Raw, t.exposed, keep)
		if err != nil {
			return nil, err
		}
		items = append(items, raw)
	}
	s.watchHeld()
	s.tellRights()
	fresh := s.freshOffer(r)
	for _, tool := range tools.Definitions(fresh.any, fresh.readOnly) {
		items = append(items, json.RawMessage(tool))
	}
	return page(r, "tools", items)
}

// exposed returns a tool definition under another name. It leaves outputSchema
// off unless results are passed on whole, since strict clients hold a shaped
// result against it. Everything else keeps its bytes.
func exposed(raw json.RawMessage, name string, keepOutput bool) ([]byte, error) {
	quoted, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	return jsonscan.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
		switch {
		case key == "name":
			return quoted
		case key == "outputSchema" && !keepOutput:
			return nil
		}
		return value
	})
}
