package shape

import (
	"encoding/json"
	"errors"

	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
)

// A ToolResult is the result of a tools/call, sliced and only decoded where an
// agent reads text.
type ToolResult struct {
	Documents
	IsError    bool
	isQuestion bool            // the server asks something before it answers
	meta       json.RawMessage // the server's own _meta, or nil
}

// ParseToolResult slices raw. A result that has no content at all is one document.
func ParseToolResult(raw json.RawMessage) (*ToolResult, error) {
	if !begins(raw, '{') {
		return nil, errors.New("the result is not what tools/call returns")
	}
	m := members(raw, "content", "structuredContent", "isError", "_meta", "resultType")
	content, structured := m[0], m[1]
	r := &ToolResult{Documents: Documents{kept: raw}, IsError: string(m[2]) == "true", meta: m[3], isQuestion: isQuestion(m[4])}
	if begins(content, '[') {
		if err := jsonscan.Elements(content, r.addContent); err != nil {
			return nil, err
		}
	}
	switch {
	case structured == nil || string(structured) == "null":
	case r.repeats(structured):
		r.twice = true
	default:
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
	var shown cache.ID
	defer func(seen *Seen) { seen.Note(shown) }(p.Seen)
	lim := s.limit(p)
	if s.opts.PassThrough || p.Whole || p.Narrow.empty() && len(raw) <= s.least(lim) {
		return p.asItCame(raw), nil
	}
	r, err := ParseToolResult(raw)
	if err != nil {
		return nil, err
	}
	if r.isQuestion {
		return p.asItCame(raw), nil
	}
	if r.IsError {
		p.Narrow, p.Seen = Narrow{}, nil
	} else if p.Narrow.empty() {
		lim = s.limitOf(p, &r.Documents)
	}
	reply, err := s.shape(agent, origin, &r.Documents, p, lim)
	if err == nil {
		reply, err = s.fewer(agent, origin, &r.Documents, reply)
	}
	if err != nil || reply == nil {
		return p.asItCame(raw), err
	}
	shown = reply.facts.CacheID
	return reply.toolResult(r.meta, r.IsError), nil
}

// HasData reports whether the result of a tools/call is one that queries run on:
// neither an error nor a question of the server's.
func HasData(raw json.RawMessage) bool {
	isError, asks := Ending(raw)
	return !isError && !asks
}

func isQuestion(resultType json.RawMessage) bool {
	return gjson.ParseBytes(resultType).String() == "input_required"
}
