// Package doc is what travels between the stages of a pipeline.
//
//	bytes ──► Recognise ──► Value: the bytes, their kind, how many items
//	"items[].user.name" ──► ParsePath ──► Path: places in a Value
//
// A [Value] is a document, or what a stage made of one. An [Error] is a failure
// that the calling agent can repair. Nothing here changes a document.
package doc

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

// MaxDepth bounds the nesting of anything called [JSON]. The MCP SDK refuses
// deeper messages; below it, recursion over a document is safe.
const MaxDepth = 1000

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

	// Whole is the document as it came, where Data is not all of it: it stands there
	// from At on, or is Mended, for NaN. Nil: Data is the document.
	Whole  []byte
	At     int
	Mended bool
}

// Recognise says what data is. JSON is an object or an array; a JSON string
// that holds one is entered, so the Value is of what it holds. Two lines or
// more that are each an object or an array are JSON Lines. A byte-order mark does
// not count; NaN and Infinity are null, which the Note tells. JSON with a little text
// around it, a sentence or a fence, is that JSON, and Whole the text. The rest, and
// JSON nested deeper than 1,000 levels, is text.
//
// Memo must belong to data, and is dropped when a string was entered.
func Recognise(data []byte, memo Memo) Value {
	switch {
	case IsDocument(data):
		return Counted(JSON, data, memo)
	case IsLines(data):
		return Counted(JSONLines, data, memo)
	}
	if inner, ok := EnterString(data); ok {
		return Counted(JSON, inner, nil)
	}
	if v, ok := within(data, memo); ok {
		return v
	}
	return Counted(Text, data, memo)
}

// Counted fills in the counts of a whole document.
func Counted(kind Kind, data []byte, memo Memo) Value {
	v := Value{Kind: kind, Data: data, Unit: "lines", Memo: memo}
	switch kind {
	case JSON:
		switch jsonscan.Kind(data) {
		case '[':
			v.Unit = "items"
			for range jsonscan.Items(data) {
				v.Items++
			}
		case '{':
			v.Unit = "fields"
			for range jsonscan.Fields(data) {
				v.Items++
			}
		default:
			v.Unit, v.Items = "", 1
		}
	case JSONLines:
		for range jsonscan.Lines(data) {
			v.Items++
		}
	default:
		v.Items = CountLines(data)
	}
	v.Total = v.Items
	return v
}

// Derive is the result of a stage: new bytes, so the memo does not follow.
func Derive(in Value, kind Kind, data []byte) Value {
	v := Counted(kind, data, nil)
	v.Note = in.Note
	return v
}

// AddNote joins notes of several stages on one line.
func (v *Value) AddNote(note string) {
	if v.Note != "" && note != "" {
		note = v.Note + "; " + note
	}
	if note != "" {
		v.Note = note
	}
}

// Memoised builds through the memo of v, if it has one.
func Memoised[T any](v Value, key string, build func() (T, int64, error)) (T, error) {
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

// IsDocument reports whether data is one JSON object or array that the rest
// of the package can walk.
func IsDocument(data []byte) bool {
	k := jsonscan.Kind(data)
	return (k == '{' || k == '[') && jsonscan.Valid(data, MaxDepth)
}

// IsLines reports whether data is JSON Lines.
func IsLines(data []byte) bool {
	if k := jsonscan.Kind(data); k != '{' && k != '[' {
		return false
	}
	n := 0
	for line := range jsonscan.Lines(data) {
		if !IsDocument(line) {
			return false
		}
		n++
	}
	return n > 1
}

// EnterString decodes a JSON string that holds an object or an array.
func EnterString(data []byte) ([]byte, bool) {
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
	inner := []byte(jsonscan.Unquote(data))
	return inner, IsDocument(inner)
}

// CountLines counts as an editor does: a last line without newline counts,
// an empty document has none.
func CountLines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}
