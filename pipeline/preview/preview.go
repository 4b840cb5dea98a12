// Package preview shows a part of a document within a budget of tokens, describes
// a document, and suggests the next calls.
//
//	Value ──► what it is, its paths, records worth seeing ──► layout ──► text within the budget
package preview

import (
	"bytes"
	"context"
	"fmt"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/render"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// Preview shows as much of v as budget tokens hold, never more, the most
// useful first. Of JSON: its paths with types, ranges and frequent values,
// the first record, the last, those that stand out and more. Of text what
// its format tells. What was left out is marked where it was.
//
// A document within the budget is shown whole, JSON minified. A budget too
// small for a line gets the begin of one.
func Preview(v doc.Value, budget int) (text []byte, part Part) {
	if budget <= 0 {
		return nil, Part{0, v.Total, v.Unit}
	}
	if whole, ok := render.Minified(v, budget); ok {
		// U+FFFD for what is invalid can take more tokens than that did.
		if text := []byte(show.Printable(whole.Data)); tokens.AtMost(text, budget) {
			return text, Part{v.Items, v.Total, v.Unit}
		}
	}
	s := newLayout(budget, v.Total)
	var unit string
	if rows, ok, err := records.Of(context.Background(), v); ok && err == nil && rows.IsTable() {
		unit = s.csv(v, rows)
	} else if v.Kind == doc.Text {
		s.total, unit = doc.CountLines(v.Data), "lines"
		if ok && err == nil {
			s.form, s.seen = rows.Form, seenLine(context.Background(), rows)
		}
		s.text(v)
	} else {
		unit = s.json(v)
	}
	text = s.bytes()
	return text, Part{s.items(), s.total, unit}
}

// A Part says what a preview shows, long items cut in place. For an object that
// is mostly one array, the items are the array's.
type Part struct {
	Shown, Total int
	Unit         string // what they count, as in [doc.Value]
}

// pathShare is what paths may have of the room, in percent, where there are records.
const pathShare = 65

// json fills s and says what its items are.
func (s *layout) json(v doc.Value) (unit string) {
	root, err := schema.Fold(context.Background(), v, schema.Depth)
	if err != nil { // cannot be: nothing ends this context
		return v.Unit
	}
	s.first(schema.DescribeRoot(v, root) + ", " + show.Count(len(v.Data)) + " bytes")
	for _, line := range besideLines(v) {
		s.note(line, 0)
	}
	if s.tree(context.Background(), v, root) {
		s.paths(root, s.left)
		return ""
	}
	if list, ok := schema.MainList(v, root); ok {
		s.total = list.N
		s.paths(root, s.left*pathShare/100)
		s.records(list)
		return list.ItemUnit()
	}
	if text, at, ok := schema.MainText(v); ok {
		s.paths(root, s.left/4)
		s.note(show.Clip(at.String(), 200)+" is text:", 0)
		s.total = doc.CountLines(text)
		s.text(doc.Value{Kind: doc.Text, Data: text})
		return "lines"
	}
	s.paths(root, s.left)
	return ""
}

// besideLines tell the text that stands around the JSON, which jq does not see, and what
// else is to be known of it.
func besideLines(v doc.Value) (lines []string) {
	before, behind := v.Beside()
	if text := bytes.TrimSpace(before); len(text) > 0 {
		lines = append(lines, "text before the JSON: "+show.Printable(text))
	}
	if text := bytes.TrimSpace(behind); len(text) > 0 {
		lines = append(lines, "text after the JSON: "+show.Printable(text))
	}
	if v.Mended {
		lines = append(lines, v.Note)
	}
	return lines
}

// csv fills s with what the rows of v tell. Its rows are shown as rows.
func (s *layout) csv(v doc.Value, rows records.Records) (unit string) {
	root, err := schema.Fold(context.Background(), rows.Value, schema.Depth)
	if err != nil { // cannot be: nothing ends this context
		return "rows"
	}
	s.first(describeTable(rows) + ", " + show.Count(len(v.Data)) + " bytes; jq and fields see an array of objects")
	list, ok := schema.MainList(rows.Value, root)
	if !ok {
		return "rows"
	}
	s.total = list.N
	s.paths(root, s.left*pathShare/100)
	var names []byte
	for _, f := range root.Items.Fields {
		names = appendTableCell(names, jsonscan.AppendQuote(nil, f.Name))
	}
	s.note("rows: "+show.Clip(show.Printable(names), 1000), 0)
	list.Row = func(record []byte, limit int) string {
		var out []byte
		for _, cell := range jsonscan.Fields(record) {
			if len(cell) > limit {
				cell = jsonscan.AppendQuote(nil, show.Elide(cell, limit))
			}
			out = appendTableCell(out, cell)
		}
		return show.Clip(show.Printable(out), limit)
	}
	s.records(list)
	return "rows"
}

// appendTableCell appends one more cell to a row.
func appendTableCell(row, cell []byte) []byte {
	if len(row) > 0 {
		row = append(row, '|')
	}
	return render.AppendCell(row, cell)
}

// paths tells the paths below root in at most share tokens.
func (s *layout) paths(root *schema.Node, share int) {
	lines, total := pathLines(root, nil, schema.Depth, true)
	const more = 12 // tokens of the line that says how many are missing
	kept := choosePaths(lines, share-more)
	for _, l := range lines {
		if l.cost > 0 {
			s.note(l.text, 0)
		}
	}
	if kept < total {
		s.note(fmt.Sprintf("… %s: proxy_explore", show.Plural(total-kept, "more paths")), 0)
	}
}
