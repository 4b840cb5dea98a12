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
	order := make([]int, len(all)) // the longest last
	for i, m := range all {
		total += m.size
		order[i] = i
	}
	if whole && lim.admits(total) {
		return raw, nil
	}
	slices.SortStableFunc(order, func(a, b int) int { return all[a].size - all[b].size })
	kept, stay := 0, 0
	for stay < len(order)-1 && lim.half().admits(kept+all[order[stay]].size) {
		kept += all[order[stay]].size
		stay++
	}
	long := order[stay:]
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
	var facts json.RawMessage
	largest := -1
	parts := make([][]json.RawMessage, len(all)) // what a message is cut into
	for _, i := range long {
		asTool := append(append([]byte(`{"content":[`), all[i].content...), "]}"...)
		shaped, err := s.shape(r.client.agent, cache.Origin{Tool: origin}, asTool, policy)
		if err != nil {
			return nil, err
		}
		if &shaped[0] == &asTool[0] {
			continue
		}
		if all[i].size > largest {
			largest, facts = all[i].size, json.RawMessage(gjson.GetBytes(shaped, "_meta").Raw)
		}
		for _, block := range gjson.GetBytes(shaped, "content").Array() {
			part, err := jsonscan.Rewrite(all[i].raw, func(key string, value json.RawMessage) json.RawMessage {
				if key == "content" {
					return json.RawMessage(block.Raw)
				}
				return value
			})
			if err != nil {
				return nil, err
			}
			parts[i] = append(parts[i], part)
		}
	}
	if largest < 0 {
		return raw, nil
	}
	list := []byte{'['}
	for i, m := range all {
		if parts[i] == nil {
			parts[i] = []json.RawMessage{m.raw}
		}
		for _, part := range parts[i] {
			list = jsonscan.AppendElement(list, part)
		}
	}
	return withContent(raw, "messages", append(list, ']'), facts)
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
