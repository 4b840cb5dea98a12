package middleware

import (
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
)

// A contentForm is where a result other than a tool's has its content blocks.
type contentForm struct {
	list string // the member that holds them
	// block returns an element of list as the content block of a tool's result,
	// and back the way that it came.
	block   func(json.RawMessage) (json.RawMessage, error)
	element func(block json.RawMessage) (json.RawMessage, error)
}

// messagesForm is that of prompts/get where all is one text, said by role.
func messagesForm(role json.RawMessage) contentForm {
	return contentForm{
		list: "messages",
		block: func(message json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(gjson.GetBytes(message, "content").Raw), nil
		},
		element: func(block json.RawMessage) (json.RawMessage, error) {
			return append(jsonscan.AppendMember(jsonscan.AppendMember([]byte{'{'}, "role", role), "content", block), '}'), nil
		},
	}
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
	list := jsonscan.Member(raw, form.list)
	if len(list) == 0 || list[0] != '[' || s.limit(up.Policy).small(len(raw)) {
		return raw, nil
	}
	asTool := []byte(`{"content":[`)
	err := jsonscan.Elements(list, func(value json.RawMessage) error {
		block, err := form.block(value)
		if len(block) == 0 {
			block = value
		}
		asTool = jsonscan.AppendElement(asTool, block)
		return err
	})
	if err != nil {
		return nil, err
	}
	asTool = append(asTool, "]}"...)
	shaped, err := s.shape(r.client.agent, cache.Origin{Tool: origin}, asTool, up.Policy)
	if err != nil {
		return nil, err
	}
	if &shaped[0] == &asTool[0] {
		return raw, nil
	}
	elements := []byte{'['}
	err = jsonscan.Elements(jsonscan.Member(shaped, "content"), func(block json.RawMessage) error {
		element, err := form.element(block)
		elements = jsonscan.AppendElement(elements, element)
		return err
	})
	if err != nil {
		return nil, err
	}
	return withContent(raw, form.list, append(elements, ']'), jsonscan.Member(shaped, "_meta"))
}

// withContent is a result with another list, and with our facts, those in the
// _meta of a reply of ours, in its own _meta.
func withContent(raw json.RawMessage, what string, list, reply json.RawMessage) (json.RawMessage, error) {
	facts := json.RawMessage(gjson.GetBytes(reply, gjson.Escape(metaResult)).Raw)
	meta := []byte{'{'}
	out, err := jsonscan.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
		switch {
		case key == what:
			return list
		case key == "_meta" && value[0] == '{':
			_ = jsonscan.Members(value, func(key string, value json.RawMessage) error {
				if key != metaResult { // only we speak under our key
					meta = jsonscan.AppendMember(meta, key, value)
				}
				return nil
			})
			return nil
		}
		return value
	})
	if err != nil {
		return nil, err
	}
	if len(facts) > 0 {
		meta = jsonscan.AppendMember(meta, metaResult, facts)
	}
	if len(meta) > 1 {
		out = append(jsonscan.AppendMember(out[:len(out)-1], "_meta", append(meta, '}')), '}')
	}
	return out, nil
}
