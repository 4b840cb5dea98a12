package shape

import (
	"encoding/json"
	"fmt"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// metaResult is the key of our facts in an answer's _meta, and metaError that of
// an error's code.
const (
	metaResult = "rlmproxy/result"
	metaError  = "rlmproxy/error"
)

// Facts are what we say of a reply that we made. Tokens is what it stands for:
// more than ShownTokens if it was cut to fit the limit. Items are those that the
// query ran over, ShownItems those in the reply.
type Facts struct {
	CacheID     cache.ID `json:"cache_id,omitempty"`
	Tokens      int      `json:"tokens"`
	ShownTokens int      `json:"shown_tokens"`
	Items       int      `json:"items"`
	ShownItems  int      `json:"shown_items"`
	Complete    bool     `json:"complete"`
}

// A reply is what an agent reads instead of an answer.
type reply struct {
	text   []byte
	others []json.RawMessage // blocks of the answer that go along as they came
	facts  Facts
}

// textBlock is the content block that holds text.
func textBlock(text []byte) json.RawMessage {
	out := append(make([]byte, 0, len(text)+len(text)/8+64), `{"type":"text","text":`...)
	return append(append(out, jsonscan.Quote(string(text))...), '}')
}

// toolResult writes the reply as the result of a tools/call. meta is the server's
// own _meta, or nil.
func (r *reply) toolResult(meta json.RawMessage, isError bool) json.RawMessage {
	out := append([]byte(`{"content":[`), textBlock(r.text)...)
	for _, b := range r.others {
		out = jsonscan.AppendElement(out, b)
	}
	out = append(out, ']')
	if isError {
		out = append(out, `,"isError":true`...)
	}
	return append(jsonscan.AppendMember(out, "_meta", withFacts(meta, r.facts)), '}')
}

// withFacts is the server's own _meta with our facts. Only we speak under our key.
func withFacts(meta json.RawMessage, facts Facts) json.RawMessage {
	out := []byte{'{'}
	if begins(meta, '{') {
		_ = jsonscan.Members(meta, func(key string, value json.RawMessage) error {
			if key != metaResult {
				out = jsonscan.AppendMember(out, key, value)
			}
			return nil
		})
	}
	ours, _ := json.Marshal(facts) // which always encode
	return append(jsonscan.AppendMember(out, metaResult, ours), '}')
}

// withList is an answer whose member holds another list, and whose _meta has our
// facts.
func withList(raw json.RawMessage, member string, list json.RawMessage, facts Facts) (json.RawMessage, error) {
	var meta json.RawMessage
	out, err := jsonscan.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
		switch {
		case key == member:
			return list
		case key == "_meta" && value[0] == '{':
			meta = value
			return nil
		}
		return value
	})
	if err != nil {
		return nil, err
	}
	return jsonscan.With(out, "_meta", withFacts(meta, facts)), nil
}

// Error writes a failure as the result of a tools/call, no part of it unbounded.
func Error(e *pipeline.Error) json.RawMessage {
	text := e.Code + ": " + string(frame.Quote([]byte(show.ClipBytes(e.Text, 1500))))
	if e.Hint != "" {
		text += "\nhint: " + show.ClipBytes(frame.OneLine(e.Hint), 1500)
	}
	return fmt.Appendf(nil, `{"content":[%s],"isError":true,"_meta":{%q:{"code":%q}}}`, textBlock([]byte(text)), metaError, e.Code)
}
