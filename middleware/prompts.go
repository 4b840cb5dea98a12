package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/middleware/wire"
)

// A prompt is one of a server's, under the name that clients see.
type prompt struct {
	exposed string
	up      *Upstream
	name    string
	raw     json.RawMessage
}

// prompts are those of all servers. Names are given like those of tools, but may
// have any characters: models do not see them.
func (s *Server) prompts() []prompt {
	var all []prompt
	seen := map[string]bool{}
	for i := range s.opts.Upstreams {
		up := &s.opts.Upstreams[i]
		for _, p := range up.Conn.Prompts() {
			name := p.Name
			if up.Prefix != "" {
				name = up.Prefix + "_" + name
			}
			if seen[name] || s.names.ambiguous(up, name) {
				name += "_" + hashed(up.Name+"\x00"+p.Name)
			}
			seen[name] = true
			all = append(all, prompt{name, up, p.Name, p.Raw})
		}
	}
	return all
}

func (s *Server) findPrompt(name string) (prompt, error) {
	for _, p := range s.prompts() {
		if p.exposed == name {
			return p, nil
		}
	}
	return prompt{}, invalidParams("unknown prompt %q", clipped(name))
}

func (s *Server) listPrompts(ctx context.Context, r *request) (json.RawMessage, error) {
	s.awaitUpstreams(ctx)
	var items []json.RawMessage
	for _, p := range s.prompts() {
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

// respelled is an object with another string as one of its members. All else
// keeps its bytes, and so does the member if it is that string, spelled otherwise.
func respelled(raw json.RawMessage, member, s string) (json.RawMessage, error) {
	quoted, err := quote(s)
	if err != nil {
		return nil, err
	}
	return wire.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
		var own string
		if key != member || value[0] == '"' && json.Unmarshal(value, &own) == nil && own == s {
			return value
		}
		return quoted
	})
}

// getPrompt answers prompts/get. What is over the limit is cut like the result
// of a tool.
func (s *Server) getPrompt(ctx context.Context, r *request) (json.RawMessage, error) {
	p, err := s.findPrompt(gjson.GetBytes(r.params, "name").String())
	if err != nil {
		return nil, err
	}
	params, err := renamed(r.params, p.name)
	if err != nil {
		return nil, err
	}
	raw, err := s.pass(ctx, p.up, r, params)
	if err != nil {
		return nil, err
	}
	return s.shapeContent(r, "prompts/get "+p.exposed, raw, p.up, messagesForm)
}

// complete answers completion/complete by the server of the prompt or resource.
func (s *Server) complete(ctx context.Context, r *request) (json.RawMessage, error) {
	ref := gjson.GetBytes(r.params, "ref")
	var up *Upstream
	key, own := "", ""
	switch ref.Get("type").String() {
	case "ref/prompt":
		p, err := s.findPrompt(ref.Get("name").String())
		if err != nil {
			return nil, err
		}
		up, key, own = p.up, "name", p.name
	case "ref/resource":
		places := s.placesOf(ref.Get("uri").String())
		if len(places) == 0 {
			return nil, notFound(ref.Get("uri").String())
		}
		up, key, own = places[0].up, "uri", places[0].uri
	default:
		return nil, invalidParams("ref is of no known type")
	}
	params, err := wire.Rewrite(r.params, func(k string, value json.RawMessage) json.RawMessage {
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
	return s.pass(ctx, up, r, params)
}

// pageItems is how many items of one of our own lists a page has. Clients that
// do not ask for the next page see as many.
const pageItems = 1000

// page is one page of a list, as r asks for it.
func page(r *request, what string, items []json.RawMessage) (json.RawMessage, error) {
	from := 0
	if cursor := gjson.GetBytes(r.params, "cursor"); cursor.Exists() {
		if _, err := fmt.Sscanf(cursor.String(), "from-%d", &from); err != nil || from < 0 || from > len(items) {
			return nil, invalidParams("cursor %q is none of ours", clipped(cursor.String()))
		}
	}
	to := min(from+pageItems, len(items))
	var out strings.Builder
	fmt.Fprintf(&out, `{"%s":[`, what)
	for i, item := range items[from:to] {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(item)
	}
	out.WriteByte(']')
	if to < len(items) {
		fmt.Fprintf(&out, `,"nextCursor":"from-%d"`, to)
	}
	out.WriteByte('}')
	return json.RawMessage(out.String()), nil
}

// A contentForm is where a result other than a tool's has its content blocks.
type contentForm struct {
	list string // the member that holds them
	// block returns an element of list as the content block of a tool's result,
	// and back the way that it came.
	block   func(json.RawMessage) (json.RawMessage, error)
	element func(block json.RawMessage) (json.RawMessage, error)
}

// messagesForm is that of prompts/get. What we write is said by the user.
var messagesForm = contentForm{
	list: "messages",
	block: func(message json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(gjson.GetBytes(message, "content").Raw), nil
	},
	element: func(block json.RawMessage) (json.RawMessage, error) {
		return append(append([]byte(`{"role":"user","content":`), block...), '}'), nil
	},
}

// contentsForm is that of resources/read for a uri.
func contentsForm(uri string) contentForm {
	return contentForm{
		list: "contents",
		block: func(contents json.RawMessage) (json.RawMessage, error) {
			return append(append([]byte(`{"type":"resource","resource":`), contents...), '}'), nil
		},
		element: func(block json.RawMessage) (json.RawMessage, error) {
			b := gjson.ParseBytes(block)
			if own := b.Get("resource"); own.Exists() {
				return json.RawMessage(own.Raw), nil
			}
			quoted, err := quote(uri)
			if err != nil {
				return nil, err
			}
			return fmt.Appendf(nil, `{"uri":%s,"mimeType":"text/plain","text":%s}`, quoted, b.Get("text").Raw), nil
		},
	}
}

// shapeContent shapes a result that is none of a tool: as if its content were
// that of one, and back.
func (s *Server) shapeContent(r *request, origin string, raw json.RawMessage, up *Upstream, form contentForm) (json.RawMessage, error) {
	var list json.RawMessage
	err := wire.Members(raw, func(key string, value json.RawMessage) error {
		if key == form.list {
			list = value
		}
		return nil
	})
	policy := up.Policy
	if err != nil || len(list) == 0 || list[0] != '[' || s.limit(policy).small(len(raw)) {
		return raw, err
	}
	asTool := []byte(`{"content":[`)
	err = wire.Elements(list, func(value json.RawMessage) error {
		block, err := form.block(value)
		if len(block) == 0 {
			block = value
		}
		if asTool[len(asTool)-1] != '[' {
			asTool = append(asTool, ',')
		}
		asTool = append(asTool, block...)
		return err
	})
	if err != nil {
		return nil, err
	}
	asTool = append(asTool, "]}"...)
	shaped, err := s.shape(r.client.agent, cache.Origin{Tool: origin, Arguments: nil}, asTool, policy)
	if err != nil {
		return nil, err
	}
	if &shaped[0] == &asTool[0] {
		return raw, nil
	}
	var content, meta json.RawMessage
	err = wire.Members(shaped, func(key string, value json.RawMessage) error {
		switch key {
		case "content":
			content = value
		case "_meta":
			meta = value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	elements := []byte{'['}
	err = wire.Elements(content, func(block json.RawMessage) error {
		element, err := form.element(block)
		if len(elements) > 1 {
			elements = append(elements, ',')
		}
		elements = append(elements, element...)
		return err
	})
	if err != nil {
		return nil, err
	}
	elements = append(elements, ']')
	out, err := wire.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
		switch key {
		case form.list:
			return elements
		case "_meta":
			return nil
		}
		return value
	})
	if err != nil || meta == nil {
		return out, err
	}
	return append(wire.AppendMember(out[:len(out)-1], "_meta", meta), '}'), nil
}
