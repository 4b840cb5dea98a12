package find

import (
	"bytes"
	"context"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/records"
	"rlmproxy/search"
)

const (
	// maxEntry bounds an entry of a log, in bytes; more are passages.
	maxEntry = 4 << 10

	// A document has up to freeUnits units however short they are, and no more of less
	// than minMean bytes on average: an index of those takes more memory than the text.
	freeUnits = 1500
	minMean   = 22
)

// A unit is a part of a document that a search ranks and shows.
type unit struct {
	start, end uint32 // in the document
	inside     uint32 // of a piece: where its string starts
	kind       unitKind
}

type unitKind uint8

const (
	unitLines  unitKind = iota // of text: a row, an entry, a passage
	unitValue                  // of JSON: one member or element
	unitRecord                 // an object in an array
	unitGroup                  // several neighbours
	unitPiece                  // of a string, which is decoded
)

// units are how a document divides into what is ranked. They are in order and
// apart; between them are only brackets, keys of what was divided, and space.
type units struct {
	text  []byte
	list  []unit
	plain []byte // text with strings decoded in place, until it is indexed
	of    string // plural: what most of them are
	head  string // a line that says how to read them, or ""
	many  bool   // of JSON Lines
	lines *search.LineTable
}

// unitsOf divides v: JSON by its structure, tables into rows, texts with
// entries into those, other texts into passages. It costs a pass over the
// document, and one more for each level of large values in one another. If the
// units are too many, they are passages instead.
func unitsOf(ctx context.Context, v doc.Value) (u *units, err error) {
	if v.Kind == doc.JSON && jsonscan.Kind(v.Data) != '"' || v.Kind == doc.JSONLines {
		u, err = jsonUnits(ctx, v)
	} else {
		u, err = textUnits(ctx, v)
	}
	if err != nil || len(u.list) <= freeUnits || len(u.text) >= minMean*len(u.list) {
		return u, err
	}
	w, err := viewOf(ctx, v)
	if err != nil {
		return nil, err
	}
	return passages(w), ctx.Err()
}

// passages divides any text.
func passages(w *view) *units {
	u := &units{text: w.text, plain: w.text, lines: w.lines, of: "passages"}
	for _, s := range search.Passages(w.text) {
		u.add(s)
	}
	return u
}

// add appends a unit of text.
func (u *units) add(s search.Span) {
	u.list = append(u.list, unit{start: uint32(s.Start), end: uint32(s.End)})
}

// textUnits divides a text.
func textUnits(ctx context.Context, v doc.Value) (*units, error) {
	w, err := viewOf(ctx, v)
	if err != nil {
		return nil, err
	}
	u := &units{text: w.text, plain: w.text, lines: w.lines}
	if rows := rowsOf(v, w.text); rows != nil {
		u.of = "rows"
		isHead := rows.HasHeader()
		for row := range rows.Rows() {
			if isHead {
				u.head, isHead = columnsLine(w.text[row.Start:row.End]), false
				continue
			}
			u.add(search.Span{Start: row.Start, End: row.End})
		}
	} else if starts := digest.Entry(digest.Kind(w.text)); starts != nil {
		u.of = "entries"
		if err := entries(ctx, w.text, starts, maxEntry, u.add); err != nil {
			return nil, err
		}
	} else {
		u = passages(w)
	}
	return u, ctx.Err()
}

// rowsOf is the table that v is, whose text this is, nil if it is none, or a page
// of one.
func rowsOf(v doc.Value, text []byte) *records.Table {
	if v.Items != v.Total {
		return nil
	}
	return records.OpenTable(text)
}

// entries calls add for the entries of text, which begin where starts says; those
// over limit bytes are divided. They end early with ctx.
func entries(ctx context.Context, text []byte, starts func(line []byte) bool, limit int, add func(search.Span)) error {
	tick := doc.Ticker{Ctx: ctx}
	from, some := 0, false // some: of the entry, a line is not blank
	cut := func(to int) {
		switch part := text[from:to]; {
		case !some:
			return // goes with the next
		case len(part) <= limit:
			add(search.Span{Start: from, End: to})
		default:
			for _, s := range search.Passages(part) {
				add(search.Span{Start: from + s.Start, End: from + s.End})
			}
		}
		from, some = to, false
	}
	at := 0
	for line := range bytes.Lines(text) {
		if err := tick.Err(); err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if starts(bytes.TrimRight(line, "\r\n")) {
				cut(at)
			}
			some = true
		}
		at += len(line)
	}
	cut(len(text))
	return nil
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

// sizeBytes is the memory that u holds besides the document.
func (u *units) sizeBytes(document []byte) int64 {
	n := int64(16 * cap(u.list))
	if u.lines != nil {
		n += u.lines.SizeBytes()
	}
	if len(u.text) > 0 && len(document) > 0 && &u.text[0] != &document[0] {
		n += int64(len(u.text))
	}
	return n
}
