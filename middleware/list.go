package middleware

import (
	"context"
	"encoding/json"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/catalogue"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
)

// listTools returns the result of tools/list: every definition as the upstream
// sent it, under its exposed name.
func (s *Server) listTools(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	s.awaitUpstreams(ctx, (*Upstream).listed)
	s.changes.answering(r, session.Tools)
	v := s.viewOf(r)
	l, err := s.listing()
	if err != nil {
		return nil, err
	}
	e := s.exposure(clientName(r), v, l)
	found := s.foundBy(ctx, r)
	var items []json.RawMessage
	for i, t := range l.targets {
		if (e.all(t.up) || found.has(t)) && v.tool(t.up, t.tool.Name) {
			items = append(items, l.defined[i])
		}
	}
	s.watchHeld()
	s.tellRights()
	fresh := s.freshOffer(r)
	ups := v.servers()
	handles := len(ups) == 0 || slices.ContainsFunc(ups, func(up *Upstream) bool { return !up.NoHandles })
	own := append(s.stand(v, e, l), tools.Definitions(fresh.any, fresh.readOnly, handles)...)
	if s.judges(r) {
		own = append(own, tools.AskDefinition(fresh.any, fresh.readOnly))
	}
	if s.opts.Code {
		own = append(own, tools.RunDefinition(fresh.readOnly))
	}
	if s.offersStats() {
		own = append(own, tools.StatsDefinition())
	}
	if s.manages(r) {
		own = append(own, tools.UpstreamsDefinition())
	}
	if s.makesTools(r) {
		own = append(own, tools.ToolboxDefinition())
	}
	for _, tool := range own {
		items = append(items, json.RawMessage(tool))
	}
	list, err := page(r, "tools", items)
	if left := s.leftOut(v); err == nil && left != nil {
		list = jsonscan.With(list, "_meta", jsonscan.Object(metaLeftOut, left))
	}
	if err == nil {
		s.tellListed(r, own)
	}
	return list, err
}

// definition is that of a tool as clients see it.
func (s *Server) definition(t target) ([]byte, error) {
	p := t.up.policy(t.tool.Name)
	keep := (s.opts.PassThrough || !p.shapes()) && len(p.Hide) == 0
	raw, err := exposed(t.tool.Raw, t.exposed, keep)
	if err == nil && s.opts.CompactSchemas {
		raw = catalogue.Compact(raw)
	}
	return raw, err
}

// metaLeftOut is the key in the _meta of a list of tools of what servers offer and it
// lacks.
const metaLeftOut = "rlmproxy/left_out"

// leftOut is that, for each server that offers more, or nil. Who may not use all tools does
// not hear of what has no name here that rights could speak of.
func (s *Server) leftOut(v view) json.RawMessage {
	type left struct {
		Server string   `json:"server"`
		Number int      `json:"number"`
		Tools  []string `json:"tools"` // the first of them
		Why    string   `json:"why"`   // the first is left out
	}
	var all []left
	for _, up := range s.upstreams() {
		if l := up.leftOut(); l.N > 0 && v.all() {
			all = append(all, left{up.Name, l.N, l.Names, l.Why})
		}
	}
	if all == nil {
		return nil
	}
	raw, _ := json.Marshal(all) // which always encodes
	return raw
}

// leftOut is what the server offers beyond what is listed of it.
func (u *Upstream) leftOut() upstream.LeftOut {
	if conn, ok := u.Conn.(interface{ LeftOut() upstream.LeftOut }); ok {
		return conn.LeftOut()
	}
	return upstream.LeftOut{}
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
