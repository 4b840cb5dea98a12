package shape

import (
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
)

// A ToolResult is the result of a tools/call, sliced and only decoded where an
// agent reads text.
type ToolResult struct {
	Documents
	IsError    bool
	WantsInput bool // it has no answer yet: the server asks something first
	meta       json.RawMessage
}

// ParseToolResult slices raw. A result that has no content at all is one document.
func ParseToolResult(raw json.RawMessage) (*ToolResult, error) {
	r := &ToolResult{Documents: Documents{kept: raw}}
	var structured json.RawMessage
	err := jsonscan.Members(raw, func(key string, value json.RawMessage) error {
		switch key {
		case "content":
			if value[0] == '[' {
				return jsonscan.Elements(value, r.addContent)
			}
		case "structuredContent":
			structured = value
		case "isError":
			r.IsError = string(value) == "true"
		case "_meta":
			r.meta = value
		case "resultType":
			r.WantsInput = wantsInput(value)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the result is not what tools/call returns: %w", err)
	}
	if structured != nil && string(structured) != "null" && !r.repeatsMedia(structured) && !r.repeats(structured) {
		r.Docs = append(r.Docs, Document{Block: len(r.blocks), Text: structured})
	}
	if len(r.blocks) == 0 && len(r.Docs) == 0 {
		r.Docs = []Document{{Text: raw}}
	}
	return r, nil
}

// ToolResult returns what agent reads of the result of a tools/call: within the
// limit the same bytes.
func (s *Shaper) ToolResult(agent string, origin cache.Origin, raw json.RawMessage, p Policy) (json.RawMessage, error) {
	lim := s.limit(p)
	if s.opts.PassThrough || p.Whole || p.Narrow.empty() && lim.admits(len(raw)) {
		return raw, nil
	}
	r, err := ParseToolResult(raw)
	if err != nil {
		return nil, err
	}
	if r.WantsInput {
		return raw, nil
	}
	if r.IsError {
		p.Narrow = Narrow{}
	}
	reply, shaped, err := s.shape(agent, origin, &r.Documents, p, lim)
	if err != nil || !shaped {
		return raw, err
	}
	return reply.toolResult(r.meta, r.IsError)
}

// HasData reports whether the result of a tools/call is one that queries run on:
// neither an error nor a question of the server's.
func HasData(raw json.RawMessage) bool {
	isError := string(jsonscan.Member(raw, "isError")) == "true"
	return !isError && !wantsInput(jsonscan.Member(raw, "resultType"))
}

// wantsInput reports whether a resultType is that of a question.
func wantsInput(resultType json.RawMessage) bool {
	return gjson.ParseBytes(resultType).String() == "input_required"
}
