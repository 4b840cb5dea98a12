package shape

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
	raw  json.RawMessage
	docs *Documents // of its content
	size int        // of these, as the limit counts
}

// Prompt returns what agent reads of the result of a prompts/get: within the limit
// the same bytes. The shortest messages stay while they take no more than half of
// the limit; each of the others is shaped by itself and keeps its place and role.
func (s *Shaper) Prompt(agent string, origin cache.Origin, raw json.RawMessage, p Policy) (json.RawMessage, error) {
	lim := s.limit(p)
	list := jsonscan.Member(raw, "messages")
	if s.opts.PassThrough || p.Whole || lim.admits(len(raw)) || len(list) == 0 || list[0] != '[' {
		return raw, nil
	}
	messages, total, err := messagesOf(list, lim)
	if err != nil {
		return nil, err
	}
	if messages != nil && lim.admits(total) {
		return raw, nil
	}
	long, kept := longest(messages, lim)
	if messages == nil || len(long) > maxCutMessages {
		return s.promptAsOne(agent, origin, raw, list, p, lim)
	}
	var facts *Facts // of the longest that is shaped
	largest := 0
	share := lim.less(kept).share(len(long))
	replies := map[int]reply{}
	for _, i := range long {
		r, shaped, err := s.shape(agent, origin, messages[i].docs, p, share)
		if err != nil {
			return nil, err
		}
		if shaped {
			replies[i] = r
		}
		if shaped && (facts == nil || messages[i].size > largest) {
			largest, facts = messages[i].size, &r.facts
		}
	}
	if facts == nil {
		return raw, nil
	}
	out := []byte{'['}
	for i, m := range messages {
		r, shaped := replies[i]
		if !shaped {
			out = jsonscan.AppendElement(out, m.raw)
		} else if out, err = m.appendReply(out, r); err != nil {
			return nil, err
		}
	}
	return withList(raw, "messages", append(out, ']'), *facts)
}

// messagesOf slices a prompt's list of messages, and returns how much of the limit
// they take. It returns nil if one is not what the protocol calls a message.
func messagesOf(list json.RawMessage, lim limit) (messages []message, total int, err error) {
	sound := true
	err = jsonscan.Elements(list, func(value json.RawMessage) error {
		content := jsonscan.Member(value, "content")
		sound = sound && value[0] == '{' && len(content) > 0
		if !sound {
			return nil
		}
		docs, err := newBlocks(content)
		m := message{raw: value, docs: docs}
		for _, d := range docs.Docs {
			m.size += lim.size(d.Text)
		}
		total += m.size
		messages = append(messages, m)
		return err
	})
	if !sound {
		return nil, 0, err
	}
	return messages, total, err
}

// longest returns which messages are to be cut, the longest last: all but the
// shortest that take no more than half of the limit together, and always one. kept
// is the size of the others.
func longest(messages []message, lim limit) (long []int, kept int) {
	long = make([]int, len(messages))
	for i := range messages {
		long[i] = i
	}
	slices.SortStableFunc(long, func(a, b int) int { return messages[a].size - messages[b].size })
	for len(long) > 1 && lim.share(2).admits(kept+messages[long[0]].size) {
		kept += messages[long[0]].size
		long = long[1:]
	}
	return long, kept
}

// appendReply appends to list the messages that stand for m, one for each block.
func (m message) appendReply(list []byte, r reply) ([]byte, error) {
	for _, block := range append([]json.RawMessage{textBlock(r.text)}, r.others...) {
		part, err := jsonscan.Rewrite(m.raw, func(key string, value json.RawMessage) json.RawMessage {
			if key == "content" {
				return block
			}
			return value
		})
		if err != nil {
			return nil, err
		}
		list = jsonscan.AppendElement(list, part)
	}
	return list, nil
}

// promptAsOne shapes all messages together, as the text of whoever speaks first.
func (s *Shaper) promptAsOne(agent string, origin cache.Origin, raw, list json.RawMessage, p Policy, lim limit) (json.RawMessage, error) {
	role := json.RawMessage(`"user"`)
	if said := gjson.GetBytes(list, "0.role"); said.Type == gjson.String {
		role = json.RawMessage(said.Raw)
	}
	var contents []json.RawMessage
	err := jsonscan.Elements(list, func(value json.RawMessage) error {
		if content := jsonscan.Member(value, "content"); len(content) > 0 {
			value = content
		}
		contents = append(contents, value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	docs, err := newBlocks(contents...)
	if err != nil {
		return nil, err
	}
	r, shaped, err := s.shape(agent, origin, docs, p, lim)
	if err != nil || !shaped {
		return raw, err
	}
	out := []byte{'['}
	for _, block := range append([]json.RawMessage{textBlock(r.text)}, r.others...) {
		m := jsonscan.AppendMember([]byte{'{'}, "role", role)
		out = jsonscan.AppendElement(out, append(jsonscan.AppendMember(m, "content", block), '}'))
	}
	return withList(raw, "messages", append(out, ']'), r.facts)
}
