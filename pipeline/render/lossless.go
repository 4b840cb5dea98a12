package render

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// compactFactor bounds what is tried: a form saves white space, escapes and
// repeated keys, so what has more bytes to a token of the budget never fits.
const compactFactor = 512

// MayFit reports whether a document of n bytes may have a form that [Lossless]
// finds, without a look at it.
func MayFit(n, budget int) bool { return n/compactFactor <= budget }

// Minified is v without the white space of JSON, if that is within budget.
func Minified(v doc.Value, budget int) (doc.Value, bool) {
	if v.Whole != nil {
		return whole(v, budget, Minified)
	}
	if tokens.AtMost(v.Data, budget) {
		return v, true
	}
	if v.Kind == doc.Text || !MayFit(len(v.Data), budget) {
		return v, false
	}
	compact, err := (&Format{As: "json"}).Apply(context.Background(), v)
	return compact, err == nil && tokens.AtMost(compact.Data, budget)
}

// whole is form for a document of which v has a part: the text around it stays. What
// was mended is shown as it came.
func whole(v doc.Value, budget int, form func(doc.Value, int) (doc.Value, bool)) (doc.Value, bool) {
	if tokens.AtMost(v.Whole, budget) {
		return v.AsText(), true
	}
	inner := v
	if inner.Whole = nil; v.Mended || !MayFit(len(v.Whole), budget) {
		return v, false
	}
	short, ok := form(inner, budget)
	before, behind := v.Beside()
	out := v.AsText()
	out.Data = append(append(bytes.Clone(before), short.Data...), behind...)
	out.Note = short.Note
	return out, ok && tokens.AtMost(out.Data, budget)
}

// Lossless returns the form of v that takes the fewest tokens and says everything v
// does, and false if that takes more than budget. v itself is taken if it fits. The
// others are
//
//   - minified JSON
//   - the same, with the strings that hold JSON written as that JSON
//   - either, with what many of its strings begin with above it
//   - any of these, an array of flat objects in it as the table of [Format]
//   - nested objects of a name and children as an indented tree
//
// The Note says which it is and how to read it; it is empty for v itself.
func Lossless(v doc.Value, budget int) (doc.Value, bool) {
	if v.Whole != nil {
		return whole(v, budget, Lossless)
	}
	if tokens.AtMost(v.Data, budget) {
		return v, true
	}
	if v.Kind == doc.Text || !MayFit(len(v.Data), budget) {
		return v, false
	}
	compact, err := (&Format{As: "json"}).Apply(context.Background(), v)
	if err != nil {
		return v, false
	}
	plain := compact
	plain.AddNote("minified")
	forms := []form{{v: plain}}
	if w, ok := unwrapped(compact); ok {
		forms = append(forms, form{v: w})
	}
	for _, f := range forms[:len(forms):len(forms)] {
		if p, ok := prefixed(f.v, budget); ok {
			forms = append(forms, p)
		}
	}
	for _, f := range forms[:len(forms):len(forms)] {
		if t, ok := flatTable(f.v); ok {
			forms = append(forms, form{f.above, t})
		}
	}
	if t, ok := tree(compact); ok {
		forms = append(forms, form{v: t})
	}
	best, found := v, false
	for _, f := range forms {
		out := f.value()
		if !tokens.AtMost(out.Data, budget) {
			continue
		}
		n, _ := tokens.Count(out.Data)
		best, found, budget = out, true, n-1
	}
	return best, found
}

// A form is a document written another way, below lines that say what its marks stand
// for.
type form struct {
	above []byte
	v     doc.Value
}

// value is the form as an agent reads it.
func (f form) value() doc.Value {
	if len(f.above) > 0 {
		f.v.Data = append(f.above[:len(f.above):len(f.above)], f.v.Data...)
	}
	return f.v
}

// unwrapped writes v with the strings that hold JSON as that JSON, at paths
// where every value is such a string: there the reader knows what was one.
func unwrapped(v doc.Value) (doc.Value, bool) {
	const maxPaths = 5
	root, err := schema.Survey(context.Background(), v, doc.MaxDepth)
	if err != nil {
		return v, false
	}
	var at []string
	root.Walk(nil, func(p doc.Path, sh, parent *schema.Node) bool {
		if sh == parent.Inner && parent.OnlyJSON() && len(at) <= maxPaths {
			at = append(at, show.Clip(p[:len(p)-1].String(), 100))
		}
		return true
	})
	if len(at) == 0 || len(at) > maxPaths {
		return v, false
	}
	var out []byte
	if v.Kind == doc.JSON {
		out = appendUnwrapped(nil, v.Data, root)
	} else {
		for _, line := range doc.Items(v) {
			out = append(appendUnwrapped(out, line, root.Items), '\n')
		}
	}
	w := v
	w.Data, w.Memo, w.Key = out, nil, ""
	w.AddNote("the strings at " + strings.Join(at, ", ") + " are written as the JSON they hold")
	return w, true
}

func appendUnwrapped(dst, value []byte, sh *schema.Node) []byte {
	if sh == nil {
		return jsonscan.AppendMinified(dst, value)
	}
	switch jsonscan.Kind(value) {
	case '"':
		if sh.OnlyJSON() {
			if inner, ok := doc.EnterString(value); ok {
				return appendUnwrapped(dst, inner, sh.Inner)
			}
		}
	case '[':
		dst = append(dst, '[')
		for n, e := range jsonscan.Items(value) {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = appendUnwrapped(dst, e, sh.Items)
		}
		return append(dst, ']')
	case '{':
		dst = append(dst, '{')
		for key, e := range jsonscan.Fields(value) {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(append(dst, key...), ':')
			below := sh.Rest
			if f := sh.ByName[jsonscan.Unquote(key)]; below == nil && f != nil {
				below = f.Node
			}
			dst = appendUnwrapped(dst, e, below)
		}
		return append(dst, '}')
	}
	return jsonscan.AppendMinified(dst, value)
}

// tableMark stands for the array that is the table below.
const tableMark = `"table below"`

// flatTable writes the records of v as a table, if all of them are flat.
func flatTable(v doc.Value) (doc.Value, bool) {
	root, err := schema.Fold(context.Background(), v, schema.Depth)
	if err != nil {
		return v, false
	}
	l, ok := schema.MainList(v, root)
	if !ok || l.ItemUnit() == "fields" || l.N < 2 || !l.Flat() {
		return v, false
	}
	if l.InOnly {
		// The rows of an only statement, say, which agents ask for one value of: the
		// preview and that cost less than the table (bench, sql.json).
		return v, false
	}
	rows, err := (&Format{As: "table"}).Apply(context.Background(), doc.Value{Kind: l.Kind, Data: l.Data})
	if err != nil {
		return v, false
	}
	out := v
	out.Kind, out.Data, out.Memo, out.Key = doc.Text, rows.Data, nil, ""
	if out.Note == "minified" {
		out.Note = ""
	}
	note := "as a table; an empty cell is a missing field"
	if !l.Whole {
		// The array is a slice of the document, unless a string was entered.
		i := jsonscan.OffsetIn(v.Data, l.Data)
		if i < 0 || i+len(l.Data) > len(v.Data) || !bytes.Equal(v.Data[i:i+len(l.Data)], l.Data) {
			return v, false
		}
		var b []byte
		b = append(append(append(b, v.Data[:i]...), tableMark...), v.Data[i+len(l.Data):]...)
		b = append(jsonscan.AppendMinified(nil, b), '\n')
		out.Data = append(b, rows.Data...)
		note = fmt.Sprintf("%s %s", show.Clip(l.At.String(), 100), note)
	}
	out.AddNote(note)
	return out, true
}
