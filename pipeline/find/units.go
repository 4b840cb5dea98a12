package find

import (
	"bytes"
	"context"
	"sort"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/table"
	"rlmproxy/search"
)

const (
	maxPassage = 1200 // bytes of one that is shown whole
	// maxMember bounds a member of an object that is one unit, maxRecord an
	// object in an array. Of larger ones the parts are units.
	maxMember = 4 << 10
	maxRecord = 16 << 10
	// minMember is what an object or array must have to be a unit; smaller ones
	// go with their neighbours.
	minMember = 64
	maxGroup  = 1200 // bytes of neighbours
	// maxUnitDepth bounds how deep parts of parts are looked for, as each level
	// is one more pass. What is deeper is divided like text.
	maxUnitDepth = 24
	maxEntry     = 4 << 10 // bytes of an entry of a log; more are passages
)

// A unit is a part of a document that a search ranks and shows: a record, a
// value, neighbouring small values, a piece of a long string, a row, an entry, a
// passage.
type unit struct {
	start, end uint32 // in the document
	node       uint32 // of JSON: the container that it is in
	index      uint32 // of JSON: which member or element there, the first of several
	kind       unitKind
}

type unitKind uint8

const (
	unitLines unitKind = iota // of text
	unitValue                 // one member or element
	unitGroup                 // several
	unitRange                 // several elements, which are named by their indexes
	unitPiece                 // of a string, which is decoded
)

// units are how a document divides into what is ranked. They are in order and
// apart; between them are only brackets, keys of what was divided, and space.
type units struct {
	text  []byte // what start and end count in
	plain []byte // text with strings decoded in place, until it is indexed
	of    string // plural: what most of them are
	head  string // a line that says how to read them, or ""
	many  bool   // of JSON Lines
	list  []unit
	nodes []node // of JSON; the first is the root
	lines *search.LineTable
}

// A node is a container whose parts are units.
type node struct {
	parent, index uint32 // index: as of a unit
	start         uint32 // of the container, or the member with its key
	object        bool
}

// unitsOf divides v: JSON by its structure, tables into rows, texts with
// entries into those, other texts into passages. It costs a pass over the
// document, and one more for each level of large values in one another.
func unitsOf(ctx context.Context, v doc.Value) (*units, error) {
	if v.Kind == doc.JSON && jsonscan.Kind(v.Data) != '"' || v.Kind == doc.JSONLines {
		return jsonUnits(ctx, v)
	}
	w, err := viewOf(ctx, v)
	if err != nil {
		return nil, err
	}
	u := &units{text: w.text, plain: w.text, of: "passages", lines: w.lines}
	var spans []search.Span
	if rows := rowsOf(v, w.text); rows != nil {
		u.of = "rows"
		list, isHead := spanList{bytes: len(w.text)}, rows.HasHeader()
		for row := range rows.Rows() {
			if isHead {
				u.head, isHead = "columns: "+string(bytes.TrimSpace(w.text[row.Start:row.End])), false
				continue
			}
			list.add(search.Span{Start: row.Start, End: row.End})
		}
		spans = list.list
	} else if starts := digest.Entry(digest.Kind(w.text)); starts != nil {
		u.of = "entries"
		spans = entrySpans(ctx, w.text, starts, maxEntry, spanList{bytes: len(w.text)})
	} else {
		spans = search.Passages(w.text)
	}
	u.list = make([]unit, len(spans))
	for i, s := range spans {
		u.list[i] = unit{start: uint32(s.Start), end: uint32(s.End)}
	}
	return u, ctx.Err()
}

// rowsOf is the table that v is, whose text this is, nil if it is none, or a page
// of one.
func rowsOf(v doc.Value, text []byte) *table.Table {
	if v.Items != v.Total {
		return nil
	}
	return table.Open(text)
}

// entrySpans are the entries of text; those over limit bytes are divided.
// They end early with ctx.
func entrySpans(ctx context.Context, text []byte, starts func(line []byte) bool, limit int, spans spanList) []search.Span {
	tick := doc.Ticker{Ctx: ctx}
	from, some := 0, false // some: of the entry, a line is not blank
	cut := func(to int) {
		switch part := text[from:to]; {
		case !some:
			return // goes with the next
		case len(part) <= limit:
			spans.add(search.Span{Start: from, End: to})
		default:
			for _, s := range search.Passages(part) {
				spans.add(search.Span{Start: from + s.Start, End: from + s.End})
			}
		}
		from, some = to, false
	}
	for at := 0; at < len(text) && tick.Err() == nil; {
		end := at + len(text[at:])
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if line := text[at:end]; len(bytes.TrimSpace(line)) > 0 {
			if starts(bytes.TrimRight(line, "\r\n")) {
				cut(at)
			}
			some = true
		}
		at = end
	}
	cut(len(text))
	return spans.list
}

// spans are the units, of JSON with what stands before each, so that the keys of
// what was divided are found with its first part.
func (u *units) spans() []search.Span {
	spans := make([]search.Span, len(u.list))
	end := 0
	for i, one := range u.list {
		spans[i] = search.Span{Start: end, End: int(one.end)}
		if one.kind == unitLines {
			spans[i].Start = int(one.start)
		}
		end = int(one.end)
	}
	if n := len(spans); n > 0 {
		spans[n-1].End = len(u.text)
	}
	return spans
}

// at returns the number of the unit whose span begins at pos.
func (u *units) at(pos int) int {
	return sort.Search(len(u.list), func(i int) bool { return int(u.list[i].end) > pos })
}

// path of unit n: of the value, or of the container that a group is in.
func (u *units) path(n int) doc.Path {
	one := u.list[n]
	if one.kind != unitValue {
		return u.nodePath(one.node) // a range is behind it
	}
	return u.nodePath(one.node).With(u.step(one.node, one.index, one.start))
}

func (u *units) nodePath(n uint32) doc.Path {
	if n == 0 {
		return nil
	}
	of := u.nodes[n]
	return u.nodePath(of.parent).With(u.step(of.parent, of.index, of.start))
}

// step leads from a container to its member or element at an offset.
func (u *units) step(container, index, start uint32) doc.Step {
	if !u.nodes[container].object {
		return doc.Step{Kind: doc.StepIndex, Index: int(index)}
	}
	at := int(start)
	return doc.Step{Key: jsonscan.Unquote(u.text[at:jsonscan.SkipString(u.text, at)])}
}

// stringOf is the string that node n stands for.
func (u *units) stringOf(n uint32) []byte {
	at := int(u.nodes[n].start)
	if u.nodes[u.nodes[n].parent].object {
		at = jsonscan.SkipSpace(u.text, jsonscan.SkipString(u.text, at))
		at = jsonscan.SkipSpace(u.text, at+1)
	}
	return u.text[at:jsonscan.SkipString(u.text, at)]
}

// group is a unit of several members or elements as part of their container,
// "…" standing for those before and after.
func (u *units) group(one unit) string {
	open, shut := "[", "]"
	if u.nodes[one.node].object {
		open, shut = "{", "}"
	}
	if one.index > 0 {
		open += "…,"
	}
	if at := jsonscan.SkipSpace(u.text, int(one.end)); at < len(u.text) && u.text[at] == ',' {
		shut = ",…" + shut
	}
	part := u.text[one.start:one.end]
	if u.many && one.node == 0 { // JSON Lines have no commas between them
		shut = "]"
		if len(bytes.TrimSpace(u.text[one.end:])) > 0 {
			shut = ",…]"
		}
		part = bytes.Join(u.elements(one), []byte(","))
	}
	return open + string(jsonscan.AppendMinified(nil, part)) + shut
}

// sizeBytes is the memory that u holds besides the document.
func (u *units) sizeBytes(document []byte) int64 {
	n := int64(20*cap(u.list) + 16*cap(u.nodes))
	if u.lines != nil {
		n += u.lines.SizeBytes()
	}
	if len(u.text) > 0 && len(document) > 0 && &u.text[0] != &document[0] {
		n += int64(len(u.text))
	}
	return n
}
