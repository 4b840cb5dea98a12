package render

import (
	"bytes"
	"context"
	"fmt"

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
	if tokens.AtMost(v.Data, budget) {
		return v, true
	}
	if v.Kind == doc.Text || !MayFit(len(v.Data), budget) {
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
//   - an array of flat objects as the table of [Format], and what is around
//     it as minified JSON above
//
// The Note says which it is and how to read it; it is empty for v itself.
func Lossless(v doc.Value, budget int) (doc.Value, bool) {
	if tokens.AtMost(v.Data, budget) {
		return v, true
	}
	if v.Kind == doc.Text || !MayFit(len(v.Data), budget) {
		return v, false
	}
	compact, err := (&Format{As: "json"}).Apply(context.Background(), v)
	if err == nil && tokens.AtMost(compact.Data, budget) {
		compact.AddNote("minified")
		return compact, true
	}
	if table, ok := flatTable(v); ok && tokens.AtMost(table.Data, budget) {
		return table, true
	}
	return v, false
}

// tableMark stands for the array that is the table below.
const tableMark = `"table below"`

// flatTable writes the records of v as a table, if all of them are flat.
func flatTable(v doc.Value) (doc.Value, bool) {
	root, err := schema.Survey(context.Background(), v, schema.Depth)
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
