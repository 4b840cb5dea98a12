package shape

import (
	"encoding/json"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline"
)

// An Answer is what a query found.
type Answer struct {
	Header string // whole lines above the value, or empty
	Value  pipeline.Value
	Source cache.ID // of what was asked
	// Printed says that Value is our account of the data, as a search prints it, and not
	// the data itself.
	Printed bool
	// Whole says that the agent asked for all of it: nothing is cut.
	Whole bool
}

// Answer returns what agent reads of a query's answer, as the result of a
// tools/call. An answer over the limit is kept under an id of its own.
func (s *Shaper) Answer(agent string, origin cache.Origin, a Answer) (json.RawMessage, error) {
	v := a.Value
	if a.Printed {
		v.Data = frame.Quote(v.Data)
	}
	text := appendData([]byte(a.Header), v.Data)
	n := count(text)
	whole := &reply{text: text, facts: Facts{CacheID: a.Source, Tokens: n, ShownTokens: n, Items: v.Total, ShownItems: v.Items}}
	if s.opts.PassThrough || a.Whole || s.answers().fits(text) {
		whole.facts.Complete = v.Items == v.Total
		return whole.toolResult(nil, false), nil
	}
	data := plain(v)
	r, err := s.cut(agent, origin, newText(data), count(data), s.limit(Policy{}), a.Header)
	if err != nil {
		return nil, err
	}
	if r == nil {
		r = whole
	}
	return r.toolResult(nil, false), nil
}

// plain is the data of v, of a string what it holds: it is read and paged as the text that
// it is.
func plain(v pipeline.Value) []byte {
	if v.Kind == pipeline.JSON && v.Unit == "" && v.Data[0] == '"' {
		return jsonscan.AppendUnquoted(nil, v.Data)
	}
	return v.Data
}

// appendData appends data to the lines of ours that stand above it, or to none. Where it
// begins as such a line, one that says so comes between.
func appendData(lines, data []byte) []byte {
	if frame.Imitates(data) {
		lines = append(lines, frame.Data...)
	}
	return append(lines, data...)
}
