// Package pipeline turns one document into what an agent reads.
//
//	bytes → Recognise → Value → Stage → Stage → … → Value → Preview
//
// A [Stage] narrows (fields, jq, slice), finds (search), describes (outline)
// or renders (format). Between stages travels a [Value]: raw bytes and what
// they are. Whatever a stage copies it copies byte for byte: numbers keep
// their spelling and objects their key order, except behind jq, which sorts.
//
// Sizes are bytes, budgets are tokens as package tokens counts them, and
// offsets of items and lines in arguments start at 0. Replies are
// deterministic. Nothing here knows MCP, agents or the cache.
package pipeline

import (
	"bytes"

	"rlmproxy/jsonscan"
)

// A Kind says how a document is read.
type Kind int

const (
	Text      Kind = iota // anything, binary included
	JSON                  // one value, no deeper than maxDepth
	JSONLines             // one JSON value a line; blank lines do not count
)

func (k Kind) String() string {
	switch k {
	case JSON:
		return "JSON"
	case JSONLines:
		return "JSON Lines"
	}
	return "text"
}

// maxDepth bounds the nesting of anything called [JSON]. The MCP SDK refuses
// deeper messages; below it, recursion over a document is safe.
const maxDepth = 1000

// A Memo keeps artefacts derived from one document (a parsed tree, a line
// table, an index), so that the next call need not build them. It returns
// what build returned for key now or on an earlier call, and must be safe
// for concurrent use. What it returns is shared and must not be modified. A
// build never calls the Memo, so that it may hold a lock meanwhile.
//
// A nil Memo builds each time.
type Memo func(key string, build func() (value any, sizeBytes int64, err error)) (any, error)

// A Value is a document, or what a stage made of one.
type Value struct {
	Kind Kind
	Data []byte // shared: never modified
	Unit string // what Items counts: "items", "lines", "fields", "matches" or "passages"; "" is one value
	// Items are in Data, of Total in what Data came from.
	Items, Total int
	Memo         Memo   // derived from exactly these bytes; nil builds each time
	Key          string // names exactly these bytes among an agent's documents, for processes that keep trees; or empty
	Note         string // one line for the agent, or empty
}

// Recognise says what data is. JSON is an object or an array; a JSON string
// that holds one is entered, so the Value is of what it holds. Two lines or
// more that are each an object or an array are JSON Lines. The rest, and
// JSON nested deeper than 1,000 levels, is text.
//
// Memo must belong to data, and is dropped when a string was entered.
func Recognise(data []byte, memo Memo) Value {
	switch {
	case isContainer(data):
		return counted(JSON, data, memo)
	case isLines(data):
		return counted(JSONLines, data, memo)
	}
	if inner, ok := enterString(data); ok {
		return counted(JSON, inner, nil)
	}
	return counted(Text, data, memo)
}

// counted fills in the counts of a whole document.
func counted(kind Kind, data []byte, memo Memo) Value {
	v := Value{Kind: kind, Data: data, Unit: "lines", Memo: memo}
	switch kind {
	case JSON:
		switch kindOf(data) {
		case '[':
			v.Unit = "items"
			for range elements(data) {
				v.Items++
			}
		case '{':
			v.Unit = "fields"
			for range members(data) {
				v.Items++
			}
		default:
			v.Unit, v.Items = "", 1
		}
	case JSONLines:
		for range records(data) {
			v.Items++
		}
	default:
		v.Items = countLines(data)
	}
	v.Total = v.Items
	return v
}

// derive is the result of a stage: new bytes, so the memo does not follow.
func derive(in Value, kind Kind, data []byte) Value {
	v := counted(kind, data, nil)
	v.Note = in.Note
	return v
}

// addNote joins notes of several stages on one line.
func (v *Value) addNote(note string) {
	if v.Note != "" && note != "" {
		note = v.Note + "; " + note
	}
	if note != "" {
		v.Note = note
	}
}

// memoised builds through the memo of v, if it has one.
func memoised[T any](v Value, key string, build func() (T, int64, error)) (T, error) {
	if v.Memo == nil {
		t, _, err := build()
		return t, err
	}
	a, err := v.Memo(key, func() (any, int64, error) { return build() })
	if err != nil {
		var zero T
		return zero, err
	}
	return a.(T), nil
}

// isContainer reports whether data is one JSON object or array that the rest
// of the package can walk.
func isContainer(data []byte) bool {
	k := kindOf(data)
	return (k == '{' || k == '[') && jsonscan.Valid(data, maxDepth)
}

// isLines reports whether data is JSON Lines.
func isLines(data []byte) bool {
	if k := kindOf(data); k != '{' && k != '[' {
		return false
	}
	n := 0
	for line := range records(data) {
		if !isContainer(line) {
			return false
		}
		n++
	}
	return n > 1
}

// enterString decodes a JSON string that holds an object or an array.
func enterString(data []byte) ([]byte, bool) {
	data = bytes.TrimSpace(data)
	// The cheap test first: what does not open a container inside is the
	// usual case, and a long string is not decoded to find out.
	if len(data) < 4 || data[0] != '"' || data[len(data)-1] != '"' {
		return nil, false
	}
	switch data[1] {
	case '{', '[', ' ', '\\':
	default:
		return nil, false
	}
	head := bytes.TrimLeft(data[1:], ` \nrt`)
	if len(head) == 0 || head[0] != '{' && head[0] != '[' || !jsonscan.Valid(data, 0) {
		return nil, false
	}
	inner := []byte(unquote(data))
	return inner, isContainer(inner)
}

// countLines counts as an editor does: a last line without newline counts,
// an empty document has none.
func countLines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}
