// Package preview shows a part of a document within a budget of tokens, describes
// a document, and suggests the next calls.
//
//	Value ──► what it is, its paths, records worth seeing ──► layout ──► text within the budget
package preview

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/render"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/table"
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
	s := newSheet(budget, v.Total)
	var unit string
	if rows, ok, err := table.Records(context.Background(), v); ok && err == nil {
		unit = s.csv(v, rows)
	} else if v.Kind == doc.Text {
		s.total, unit = doc.CountLines(v.Data), "lines"
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
	Unit         string // what they count, as in [Value]
}

// json fills s and says what its items are.
func (s *sheet) json(v doc.Value) (unit string) {
	root, err := schema.Survey(context.Background(), v, schema.Depth)
	if err != nil { // cannot be: nothing ends this context
		return v.Unit
	}
	s.first(schema.DescribeRoot(v, root) + ", " + show.Count(len(v.Data)) + " bytes")
	if list, ok := schema.MainList(v, root); ok {
		s.total = list.N
		s.paths(root, s.left/2)
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
	s.total = root.Members
	s.members(v, root)
	return v.Unit
}

// csv fills s with what the records of v tell. Its rows are shown as rows.
func (s *sheet) csv(v, records doc.Value) (unit string) {
	root, err := schema.Survey(context.Background(), records, schema.Depth)
	if err != nil { // cannot be: nothing ends this context
		return "rows"
	}
	s.first(schema.DescribeTable(v, records) + ", " + show.Count(len(v.Data)) + " bytes; jq and fields see an array of objects")
	list, ok := schema.MainList(records, root)
	if !ok {
		return "rows"
	}
	s.total = list.N
	s.paths(root, s.left/2)
	var names []byte
	for _, f := range root.Items.Fields {
		names = appendTableCell(names, show.AppendQuote(nil, f.Name))
	}
	s.note("rows: "+show.Clip(show.Printable(names), 1000), 0)
	list.Row = func(record []byte, limit int) string {
		var out []byte
		for _, cell := range jsonscan.Fields(record) {
			if len(cell) > limit {
				cell = show.AppendQuote(nil, show.Elide(cell, limit))
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
func (s *sheet) paths(root *schema.Node, share int) {
	lines, total := schema.PathLines(root, nil, true)
	const more = 12 // tokens of the line that says how many are missing
	kept := schema.ChoosePaths(lines, share-more)
	for _, l := range lines {
		if l.Cost > 0 {
			s.note(l.Text, 0)
		}
	}
	if kept < total {
		s.note(fmt.Sprintf("… %s more: proxy_explore", show.Plural(total-kept, "paths")), 0)
	}
}

// records shows the first record, the last, those that stand out, and then
// more from the first on.
func (s *sheet) records(l schema.List) {
	room := s.left
	line := func(n int, at doc.Step, value []byte, why string, limit int) string {
		if why != "" {
			why = " (" + why + ")"
		}
		label := show.Clip(l.At.With(at).String(), 200) + why + " "
		switch {
		case l.Row != nil:
			return label + l.Row(value, limit)
		case len(value) <= limit:
			value = jsonscan.AppendMinified(nil, value)
		default:
			value = []byte(show.Elide(value, limit))
		}
		return label + show.Printable(value)
	}
	// A token is three to four bytes: the first record gets a third of the
	// room, the others less.
	first, other := max(room, 60), max(room*2/3, 40)

	odd := schema.Outliers(l)
	wanted := map[int]schema.Outlier{0: {}, l.N - 1: {N: l.N - 1}}
	order := []int{0, l.N - 1}
	most, fillers := 12, fillers
	if l.InOnly { // their paths are long
		most, fillers, order = 1, 0, order[:1]
	}
	for _, o := range odd[:min(len(odd), most)] {
		if was, twice := wanted[o.N]; twice && was.Why != "" {
			continue
		} else if !twice {
			order = append(order, o.N)
		}
		wanted[o.N] = o
	}
	lines := map[int]string{}
	last := slices.Max(order)
	n := -1
	for at, value := range l.All() {
		if n++; n > last {
			break
		}
		if o, ok := wanted[n]; ok {
			limit := other
			if n == 0 {
				limit = first
			}
			lines[n] = line(n, at, value, o.Why, limit)
		}
	}
	for i, n := range order {
		// A long one is passed over; the next may fit.
		if text, ok := lines[n]; !ok || !s.item(n, text, 0) && i == 0 {
			return
		}
	}
	if l.ItemUnit() == "fields" {
		s.keys(l)
		return
	}
	more, misses := 0, 0
	n = -1
	for at, value := range l.All() {
		if n++; more == fillers || misses == 3 {
			return
		}
		if _, ok := wanted[n]; ok {
			continue
		} else if s.item(n, line(n, at, value, "", other), 0) {
			more++
		} else {
			misses++
		}
	}
}

// fillers are the records shown after those that have a reason: enough to see
// what is usual. More of them say little, and an agent pays for each.
const fillers = 3

// keys lists the keys of a map.
func (s *sheet) keys(l schema.List) {
	var line []byte
	n := 0
	for step := range l.All() {
		key := show.AppendQuote(nil, show.Clip(step.Key, 100))
		if n++; len(line)+len(key) > 3*s.left {
			break
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, key...)
	}
	for room := len(line); room > 100; room = room * 3 / 4 {
		end := bytes.LastIndexByte(line[:room], ' ')
		if end < 0 || s.note("keys: "+string(line[:end])+" …", 0) {
			return
		}
	}
}

// members tells an object that is no list: its paths, and of the larger parts
// the first record.
func (s *sheet) members(v doc.Value, root *schema.Node) {
	s.paths(root, s.left*3/4)
	n := 0
	for key, value := range jsonscan.Fields(v.Data) {
		line := show.Clip(doc.Path{{Key: jsonscan.Unquote(key)}}.String(), 200)
		if jsonscan.IsContainer(value) && !s.item(n, line+" "+show.Printable(show.Elide(value, max(s.left, 60))), 0) {
			return
		}
		n++
	}
}
