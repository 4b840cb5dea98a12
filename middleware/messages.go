package middleware

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
)

// maxCutMessages is how many messages of a prompt are cut one by one. Each gets a
// share of the limit, and a share of much less than a tenth shows nothing.
const maxCutMessages = 8

// A message is one of a prompt's.
type message struct {
	raw, content json.RawMessage
	size         int // of what it says, as the limit counts; images and such say nothing
}

// shapeMessages shapes a prompt that is over the limit. The shortest messages stay
// while they take no more than half of it; each of the others is cut like a result
// of its own and stays where it was, said by whoever said it.
func (s *Server) shapeMessages(r *request, origin string, raw json.RawMessage, up *Upstream) (json.RawMessage, error) {
	policy := up.Policy
	lim := s.limit(policy)
	if s.opts.PassThrough || !policy.shapes() || lim.small(len(raw)) {
		return raw, nil
	}
	all, whole, err := messagesOf(raw, lim)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, m := range all {
		total += m.size
	}
	if whole && lim.admits(total) {
		return raw, nil
	}
	long, kept := longest(all, lim)
	if !whole || len(long) > maxCutMessages {
		role := json.RawMessage(`"user"`)
		if len(all) > 0 {
			if said := gjson.GetBytes(all[0].raw, "role"); said.Type == gjson.String {
				role = json.RawMessage(said.Raw)
			}
		}
		return s.shapeContent(r, origin, raw, up, messagesForm(role))
	}
	policy.within = lim.less(kept).share(len(long))
	var facts json.RawMessage // of the longest that is cut
	largest := -1
	parts := make([][]json.RawMessage, len(all))
	for i, m := range all {
		parts[i] = []json.RawMessage{m.raw}
	}
	for _, i := range long {
		cut, meta, err := s.cutMessage(r.client.agent, origin, all[i], policy)
		if err != nil {
			return nil, err
		}
		if cut == nil {
			continue
		}
		parts[i] = cut
		if all[i].size > largest {
			largest, facts = all[i].size, meta
		}
	}
	if largest < 0 {
		return raw, nil
	}
	list := []byte{'['}
	for _, part := range slices.Concat(parts...) {
		list = jsonscan.AppendElement(list, part)
	}
	return withContent(raw, "messages", append(list, ']'), facts)
}

// longest returns which messages are to be cut, the longest last: all but the
// shortest that take no more than half of the limit together, and always one. kept
// is the size of the others.
func longest(all []message, lim limit) (long []int, kept int) {
	long = make([]int, len(all))
	for i := range all {
		long[i] = i
	}
	slices.SortStableFunc(long, func(a, b int) int { return all[a].size - all[b].size })
	for len(long) > 1 && lim.half().admits(kept+all[long[0]].size) {
		kept += all[long[0]].size
		long = long[1:]
	}
	return long, kept
}

// cutMessage shapes a message as the result of a tool. It returns the messages that
// it is cut into, all of its role, and the _meta of the reply, or nil if it stays.
func (s *Server) cutMessage(agent, origin string, m message, p Policy) (parts []json.RawMessage, meta json.RawMessage, err error) {
	asTool := append(append([]byte(`{"content":[`), m.content...), "]}"...)
	shaped, err := s.shape(agent, cache.Origin{Tool: origin}, asTool, p)
	if err != nil || &shaped[0] == &asTool[0] {
		return nil, nil, err
	}
	for _, block := range gjson.GetBytes(shaped, "content").Array() {
		part, err := jsonscan.Rewrite(m.raw, func(key string, value json.RawMessage) json.RawMessage {
			if key == "content" {
				return json.RawMessage(block.Raw)
			}
			return value
		})
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, part)
	}
	return parts, json.RawMessage(gjson.GetBytes(shaped, "_meta").Raw), nil
}

// messagesOf slices the messages out of a prompt. Whole is false where one is not
// what the protocol calls a message.
func messagesOf(raw json.RawMessage, lim limit) (all []message, whole bool, err error) {
	whole = true
	err = jsonscan.Members(raw, func(key string, value json.RawMessage) error {
		if key != "messages" || value[0] != '[' {
			return nil
		}
		return jsonscan.Elements(value, func(value json.RawMessage) error {
			m := message{raw: value, content: jsonscan.Member(value, "content")}
			whole = whole && value[0] == '{' && len(m.content) > 0
			if whole {
				r := &result{}
				if err := r.addBlock(m.content); err != nil {
					return err
				}
				for _, d := range r.docs {
					m.size += lim.size(d.text)
				}
			}
			all = append(all, m)
			return nil
		})
	})
	return all, whole, err
}
