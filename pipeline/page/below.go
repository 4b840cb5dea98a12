package page

import (
	"bytes"
	"fmt"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// maxBelow is how many steps a list is looked for below a wrapper.
const maxBelow = 8

// A Wrapped is a list with what stands around it.
type Wrapped struct {
	doc.Value          // the array or object whose items are paged
	At        doc.Path // of the Value
	Around    []byte   // the document with a few words in the place of the Value
}

// Below finds the list that a document is about, below what is wrapped around it: the
// member with four fifths of the bytes of an object, of that one's member, and so on, also
// where it is in the only item of an array or is JSON in a string. It reports false if the
// document is that list itself, or has none. Cost: a pass over the document for each step.
func Below(v doc.Value) (Wrapped, bool) {
	if v.Kind != doc.JSON {
		return Wrapped{}, false
	}
	w, ok := below(bytes.TrimSpace(v.Data), nil)
	return w, ok && len(w.At) > 0
}

// below is Below of the value at at. It reports false for one that is no list: it has less
// than two items, or is an object whose largest member is not one either.
func below(data []byte, at doc.Path) (Wrapped, bool) {
	here := Wrapped{Value: doc.Counted(doc.JSON, data, nil), At: at}
	here.Around = fmt.Appendf(nil, `"… %s …"`, show.Plural(here.Total, here.Unit))
	var inner []byte
	var step doc.Step
	switch jsonscan.Kind(data) {
	case '"':
		entered, ok := doc.EnterString(data)
		if !ok || len(at) >= maxBelow {
			return Wrapped{}, false
		}
		return below(bytes.TrimSpace(entered), at.With(doc.Step{Kind: doc.StepJSON}))
	case '[':
		for i, item := range jsonscan.Items(data) {
			if inner = item; i > 0 || jsonscan.Kind(item) != '{' {
				inner = nil
				break
			}
		}
		step = doc.Step{Kind: doc.StepIndex}
	case '{':
		for key, value := range jsonscan.Fields(data) {
			if 5*len(value) >= 4*len(data) {
				inner, step = value, doc.Step{Key: jsonscan.Unquote(key)}
			}
		}
	default:
		return Wrapped{}, false
	}
	if inner != nil && len(at) < maxBelow {
		w, ok := below(inner, at.With(step))
		if step.Kind == doc.StepIndex && len(w.At) == len(at)+1 {
			ok = false // the fields of the only item
		}
		if ok {
			i := jsonscan.OffsetIn(data, inner)
			w.Around = append(append(append([]byte(nil), data[:i]...), w.Around...), data[i+len(inner):]...)
			return w, true
		}
		if jsonscan.Kind(data) == '{' {
			return Wrapped{}, false // one member is nearly all of it, and has no pages
		}
	}
	return here, here.Total > 1
}
