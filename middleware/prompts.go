package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/session"
)

// A prompt is one of a server's, under the name that clients see.
type prompt struct {
	exposed string
	stable  string // a name that ends in a hash and always reaches it
	up      *Upstream
	name    string
	raw     json.RawMessage
}

// prompts are those of the servers that an agent sees. Names are given like those of tools,
// but may have any characters: models do not see them.
func (s *Server) prompts(v view) []prompt {
	var all []prompt
	seen := map[string]bool{}
	for _, up := range s.upstreams() {
		for _, p := range up.Conn.Prompts() {
			name := p.Name
			if up.Prefix != "" {
				name = up.Prefix + "_" + name
			}
			stable := name + "_" + hashed(keyOf(up, p.Name))
			if seen[name] || ambiguous(s.servers.Load(), up, name) {
				name = stable
			}
			seen[name] = true
			if v.server(up) && up.has("prompts") {
				all = append(all, prompt{name, stable, up, p.Name, p.Raw})
			}
		}
	}
	return all
}

// findPrompt returns the prompt of an exposed name. A name that is not known yet
// may be one of a server that is still connecting.
func (s *Server) findPrompt(ctx context.Context, v view, name string) (prompt, error) {
	var p prompt
	find := func() bool {
		all := s.prompts(v)
		i := slices.IndexFunc(all, func(p prompt) bool { return p.exposed == name })
		if i < 0 {
			i = slices.IndexFunc(all, func(p prompt) bool { return p.stable == name })
		}
		if i >= 0 {
			p = all[i]
		}
		return i >= 0
	}
	if s.until(ctx, func(up *Upstream) bool { return strings.HasPrefix(name, up.Prefix) && v.maybe(up) }, find) {
		return p, nil
	}
	return prompt{}, session.InvalidParams("unknown prompt %q", clipped(name))
}

func (s *Server) listPrompts(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	s.awaitUpstreams(ctx, (*Upstream).listed)
	s.changes.answering(r, session.Prompts)
	var items []json.RawMessage
	for _, p := range s.prompts(s.viewOf(r)) {
		raw, err := renamed(p.raw, p.exposed)
		if err != nil {
			return nil, err
		}
		items = append(items, raw)
	}
	return page(r, "prompts", items)
}

// renamed is a definition under another name. All else keeps its bytes.
func renamed(raw json.RawMessage, name string) (json.RawMessage, error) {
	return respelled(raw, "name", name)
}

// stringOf is a member of an object, "" if there is none. Of a repeated one the last
// counts, for all who decide by it.
func stringOf(object json.RawMessage, member string) string {
	return gjson.ParseBytes(jsonscan.Member(object, member)).String()
}

// respelled is an object with another string as one of its members. All else
// keeps its bytes, and so does the member if it is that string, spelled otherwise.
func respelled(raw json.RawMessage, member, s string) (json.RawMessage, error) {
	return jsonscan.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
		var own string
		if key != member || value[0] == '"' && json.Unmarshal(value, &own) == nil && own == s {
			return value
		}
		return jsonscan.Quote(s)
	})
}

// getPrompt answers prompts/get. What is over the limit is cut like the result
// of a tool.
func (s *Server) getPrompt(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	p, err := s.findPrompt(ctx, s.viewOf(r), stringOf(r.Params, "name"))
	if err != nil {
		return nil, err
	}
	params, err := renamed(r.Params, p.name)
	if err != nil {
		return nil, err
	}
	observe.Of(ctx).Reached(p.up.Name, p.exposed)
	raw, err := s.forward(ctx, p.up, p.up.Policy.Hide, r, params)
	if err != nil {
		return nil, err
	}
	return s.shaper.Prompt(r.Session.Agent, p.exposed, raw, p.up.Policy.shaping(p.up))
}

// completeArgument answers completion/complete by the server of the prompt or resource.
func (s *Server) completeArgument(ctx context.Context, r *session.Request) (json.RawMessage, error) {
	ref := jsonscan.Member(r.Params, "ref")
	var up *Upstream
	key, own := "", ""
	switch stringOf(ref, "type") {
	case "ref/prompt":
		p, err := s.findPrompt(ctx, s.viewOf(r), stringOf(ref, "name"))
		if err != nil {
			return nil, err
		}
		up, key, own = p.up, "name", p.name
	case "ref/resource":
		places := s.placesOf(ctx, s.viewOf(r), stringOf(ref, "uri"))
		if len(places) == 0 {
			return nil, notFound(stringOf(ref, "uri"))
		}
		up, key, own = places[0].up, "uri", places[0].uri
	default:
		return nil, session.InvalidParams("unknown type of ref")
	}
	params, err := jsonscan.Rewrite(r.Params, func(k string, value json.RawMessage) json.RawMessage {
		if k != "ref" || value[0] != '{' {
			return value
		}
		value, err := respelled(value, key, own)
		if err != nil {
			return json.RawMessage("null")
		}
		return value
	})
	if err != nil {
		return nil, err
	}
	return s.forward(ctx, up, up.Policy.Hide, r, params)
}

// pageItems is how many items of one of our own lists a page has. Clients that
// do not ask for the next page see as many.
const pageItems = 1000

// cursorOf is where a list is to go on. Some clients write null, or nothing between
// quotes, where they begin.
func cursorOf(params json.RawMessage) gjson.Result {
	cursor := gjson.GetBytes(params, "cursor")
	if cursor.Type == gjson.Null || cursor.Raw == `""` {
		return gjson.Result{}
	}
	return cursor
}

// page is one page of a list, as r asks for it.
func page(r *session.Request, what string, items []json.RawMessage) (json.RawMessage, error) {
	from := 0
	if cursor := cursorOf(r.Params); cursor.Exists() {
		if _, err := fmt.Sscanf(cursor.String(), "from-%d", &from); err != nil || from < 0 || from > len(items) {
			return nil, session.InvalidParams("unknown cursor %q", clipped(cursor.String()))
		}
	}
	to := min(from+pageItems, len(items))
	out := fmt.Appendf(nil, `{"%s":[`, what)
	for _, item := range items[from:to] {
		out = jsonscan.AppendElement(out, item)
	}
	out = append(out, ']')
	if to < len(items) {
		out = fmt.Appendf(out, `,"nextCursor":"from-%d"`, to)
	}
	return append(out, '}'), nil
}
