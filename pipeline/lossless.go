package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// compactFactor bounds what is tried: a form saves white space, escapes and
// repeated keys, so what has more bytes to a token of the budget never fits.
const compactFactor = 512

// MayFit reports whether a document of n bytes may have a form that [Lossless]
// finds, without a look at it.
func MayFit(n, budget int) bool { return n/compactFactor <= budget }

// minified is v without the white space of JSON, if that is within budget.
func minified(v Value, budget int) (Value, bool) {
	if tokens.AtMost(v.Data, budget) {
		return v, true
	}
	if v.Kind == Text || !MayFit(len(v.Data), budget) {
		return v, false
	}
	compact, err := (&Format{As: "json"}).Apply(context.Background(), v)
	return compact, err == nil && tokens.AtMost(compact.Data, budget)
}

// Lossless returns a form of v that says everything v does in at most budget
// tokens, and false if there is none. The first that fits is taken:
//
//   - v itself
//   - minified JSON
//   - the same, with the strings that hold JSON written as that JSON
//   - an array of flat objects as the table of [Format], and what is around
//     it as minified JSON above
//
// The Note says which it is and how to read it; it is empty for v itself.
func Lossless(v Value, budget int) (Value, bool) {
	if tokens.AtMost(v.Data, budget) {
		return v, true
	}
	if v.Kind == Text || !MayFit(len(v.Data), budget) {
		return v, false
	}
	for _, form := range []func(Value) (Value, bool){
		func(v Value) (Value, bool) {
			compact, err := (&Format{As: "json"}).Apply(context.Background(), v)
			compact.addNote("minified")
			return compact, err == nil
		},
		unwrapped,
		flatTable,
	} {
		if out, ok := form(v); ok && tokens.AtMost(out.Data, budget) {
			return out, true
		}
	}
	return v, false
}

// unwrapped writes v with the strings that hold JSON as that JSON, at paths
// where every value is such a string: there the reader knows what was one.
func unwrapped(v Value) (Value, bool) {
	const maxPaths = 5
	root, err := survey(context.Background(), v, maxDepth)
	if err != nil {
		return v, false
	}
	var at []string
	root.walk(nil, func(p Path, sh, parent *shape) bool {
		if sh == parent.inner && parent.onlyJSON() && len(at) <= maxPaths {
			at = append(at, show.Clip(p[:len(p)-1].String(), 100))
		}
		return true
	})
	if len(at) == 0 || len(at) > maxPaths {
		return v, false
	}
	var out []byte
	if v.Kind == JSON {
		out = appendUnwrapped(nil, v.Data, root)
	} else {
		for _, line := range items(v) {
			out = append(appendUnwrapped(out, line, root.items), '\n')
		}
	}
	w := v
	w.Data, w.Memo, w.Key = out, nil, ""
	w.addNote("the strings at " + strings.Join(at, ", ") + " are written as the JSON they hold")
	return w, true
}

// onlyJSON reports that every value is a string that holds JSON, or null.
func (sh *shape) onlyJSON() bool {
	return sh.inner != nil && sh.innerMany == sh.kinds[isString] && sh.innerMany+sh.kinds[isNull] == sh.count
}

func appendUnwrapped(dst, value []byte, sh *shape) []byte {
	if sh == nil {
		return appendMinified(dst, value)
	}
	switch kindOf(value) {
	case '"':
		if sh.onlyJSON() {
			if inner, ok := enterString(value); ok {
				return appendUnwrapped(dst, inner, sh.inner)
			}
		}
	case '[':
		dst = append(dst, '[')
		for n, e := range elements(value) {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = appendUnwrapped(dst, e, sh.items)
		}
		return append(dst, ']')
	case '{':
		dst = append(dst, '{')
		for key, e := range members(value) {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(append(dst, key...), ':')
			below := sh.rest
			if f := sh.byName[unquote(key)]; below == nil && f != nil {
				below = f.shape
			}
			dst = appendUnwrapped(dst, e, below)
		}
		return append(dst, '}')
	}
	return appendMinified(dst, value)
}

// tableMark stands for the array that is the table below.
const tableMark = `"table below"`

// flatTable writes the records of v as a table, if all of them are flat.
func flatTable(v Value) (Value, bool) {
	root, err := survey(context.Background(), v, surveyDepth)
	if err != nil {
		return v, false
	}
	l, ok := mainListing(v, root)
	if !ok || l.unit() == "fields" || l.n < 2 || !l.flat() {
		return v, false
	}
	if l.inOnly {
		// The rows of an only statement, say, which agents ask for one value of: the
		// preview and that cost less than the table (bench, sql.json).
		return v, false
	}
	rows, err := (&Format{As: "table"}).Apply(context.Background(), Value{Kind: l.Kind, Data: l.Data})
	if err != nil {
		return v, false
	}
	out := v
	out.Kind, out.Data, out.Memo, out.Key = Text, rows.Data, nil, ""
	note := "as a table; an empty cell is a missing field"
	if !l.whole {
		// The array is a slice of the document, unless a string was entered.
		i := offsetIn(v.Data, l.Data)
		if i < 0 || i+len(l.Data) > len(v.Data) || !bytes.Equal(v.Data[i:i+len(l.Data)], l.Data) {
			return v, false
		}
		var b []byte
		b = append(append(append(b, v.Data[:i]...), tableMark...), v.Data[i+len(l.Data):]...)
		b = append(appendMinified(nil, b), '\n')
		out.Data = append(b, rows.Data...)
		note = fmt.Sprintf("%s %s", show.Clip(l.at.String(), 100), note)
	}
	out.addNote(note)
	return out, true
}

// flat reports that all records are objects without objects or arrays inside.
func (l listing) flat() bool {
	if l.elem == nil || l.elem.kinds[isObject] < l.elem.count || l.elem.rest != nil {
		return false
	}
	for _, f := range l.elem.fields {
		if f.shape.kinds[isObject]+f.shape.kinds[isArray] > 0 {
			return false
		}
	}
	return true
}
