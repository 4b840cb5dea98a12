package middleware

import (
	"bytes"
	"encoding/json"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
)

// metaResult is the key of our facts in a result's _meta, and metaError that of
// an error's code.
const (
	metaResult = "rlmproxy/result"
	metaError  = "rlmproxy/error"
)

// facts are what we say of a reply that we made. Tokens is what it stands for:
// more than ShownTokens if it was cut to fit the limit. Items are those that the
// query ran over, ShownItems those in the reply.
type facts struct {
	CacheID     cache.ID `json:"cache_id,omitempty"`
	Tokens      int      `json:"tokens"`
	ShownTokens int      `json:"shown_tokens"`
	Items       int      `json:"items"`
	ShownItems  int      `json:"shown_items"`
	Complete    bool     `json:"complete"`
}

// A reply is a result that we make.
type reply struct {
	text    []byte
	others  []block         // blocks of the upstream that go along untouched
	meta    json.RawMessage // the upstream's own _meta, or nil
	key     string          // metaResult or metaError
	facts   any
	isError bool
}

// encode writes the reply as the result of a tools/call.
func (r reply) encode() (json.RawMessage, error) {
	var out bytes.Buffer
	out.Grow(len(r.text) + len(r.text)/8 + 256)
	out.WriteString(`{"content":[{"type":"text","text":`)
	text, err := quote(string(r.text))
	if err != nil {
		return nil, err
	}
	out.Write(text)
	out.WriteByte('}')
	for _, b := range r.others {
		out.WriteByte(',')
		out.Write(b.raw)
	}
	out.WriteByte(']')
	if r.isError {
		out.WriteString(`,"isError":true`)
	}
	facts, err := json.Marshal(r.facts)
	if err != nil {
		return nil, err
	}
	out.WriteString(`,"_meta":{`)
	if r.meta != nil && r.meta[0] == '{' {
		err := jsonscan.Members(r.meta, func(key string, value json.RawMessage) error {
			if key == r.key {
				return nil // only we speak under our key
			}
			k, err := json.Marshal(key)
			out.Write(k)
			out.WriteByte(':')
			out.Write(value)
			out.WriteByte(',')
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	out.WriteString(`"` + r.key + `":`)
	out.Write(facts)
	out.WriteString(`}}`)
	return out.Bytes(), nil
}

// quote writes s as JSON without escaping HTML, which costs tokens wherever a
// host shows an agent the JSON itself. Bytes that are not UTF-8 become U+FFFD.
func quote(s string) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), err
}
