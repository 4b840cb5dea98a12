package shape

import (
	"encoding/json"
	"slices"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
)

// maxCutMessages is how many messages of a prompt are cut one by one. Each gets a
// share of the limit, and a share of much less than a tenth shows nothing.
const maxCutMessages = 8

// A message is one of a prompt's.
type message struct {
	raw, content json.RawMessage
	docs         *Documents // of its content
	size         int        // of these, as the limit counts
}

// Prompt returns what agent reads of the result of a prompts/get of name: within
// the limit the same bytes. The shortest messages stay while they take no more than half of
// the limit; each of the others is shaped by itself and keeps its place and role.
// If those are too many, all messages together are shaped as one of the first role.
func (s *Shaper) Prompt(agent, name string, raw json.RawMessage, p Policy) (json.RawMessage, error) {
	lim := s.limit(p)
	list := jsonscan.Member(raw, "messages")
	if s.opts.PassThrough || p.Whole || lim.admits(len(raw)) || !begins(list, '[') {
		return p.asItCame(raw), nil
	}
	messages, size, err := messagesOf(list, lim)
	if err != nil || lim.admits(size) {
		return p.asItCame(raw), err
	}
	long, kept := longest(messages, lim)
	part := lim.less(kept).share(len(long))
	if len(long) > maxCutMessages {
		if messages, err = asOne(messages); err != nil {
			return nil, err
		}
		long, part = []int{0}, lim
	}
	out, facts, err := s.messages(agent, cache.Origin{Tool: "prompts/get " + name, ReadOnly: true, NoModel: p.NoModel, Terms: p.Terms}, messages, long, p, part)
	if err != nil || facts == nil {
		return p.asItCame(raw), err
	}
	return withList(raw, "messages", out, *facts)
}

// messagesOf slices a prompt's list of messages, and returns how much of the limit
// they take. What is not a message with content takes nothing, and stays.
func messagesOf(list json.RawMessage, lim limit) (messages []message, size int, err error) {
	err = jsonscan.Elements(list, func(value json.RawMessage) error {
		m := message{raw: value, content: jsonscan.Member(value, "content"), docs: &Documents{}}
		if m.content != nil {
			var err error
			if m.docs, err = newBlocks(m.content); err != nil {
				return err
			}
		}
		m.size = m.docs.size(lim)
		size += m.size
		messages = append(messages, m)
		return nil
	})
	return messages, size, err
}

// longest returns which messages are to be shaped, the longest last: all but the
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

// asOne returns one message with the contents of all, said by whoever speaks first.
func asOne(messages []message) ([]message, error) {
	var contents []json.RawMessage
	for _, m := range messages {
		if m.content != nil {
			contents = append(contents, m.content)
		}
	}
	role := jsonscan.Member(messages[0].raw, "role")
	if role == nil {
		role = json.RawMessage(`"user"`)
	}
	docs, err := newBlocks(contents...)
	raw := jsonscan.AppendMember(jsonscan.AppendMember([]byte{'{'}, "role", role), "content", []byte("null"))
	return []message{{raw: append(raw, '}'), docs: docs}}, err
}

// messages returns a list of the messages in which those of long are shaped, the
// longest last, and the facts of the longest. These are nil if all stay.
func (s *Shaper) messages(agent string, origin cache.Origin, messages []message, long []int, p Policy, lim limit) (list []byte, facts *Facts, err error) {
	replies := map[int]*reply{}
	for _, i := range long {
		r, err := s.shape(agent, origin, messages[i].docs, p, lim)
		if err != nil {
			return nil, nil, err
		}
		if r != nil {
			replies[i], facts = r, &r.facts
		}
	}
	list = []byte{'['}
	for i, m := range messages {
		r := replies[i]
		if r == nil {
			list = jsonscan.AppendElement(list, p.asItCame(m.raw))
			continue
		}
		// One message for each block that stands for it.
		for _, block := range append([]json.RawMessage{textBlock(r.text)}, r.others...) {
			part, err := jsonscan.Rewrite(m.raw, func(key string, value json.RawMessage) json.RawMessage {
				if key == "content" {
					return block
				}
				return value
			})
			if err != nil {
				return nil, nil, err
			}
			list = jsonscan.AppendElement(list, part)
		}
	}
	return append(list, ']'), facts, nil
}
