package find

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sort"

	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/doc"
	"rlmproxy/search"
)

// contexts returns what is shown around hits, in document order: each hit is in
// one, and none overlaps another.
func (s *Search) contexts(ctx context.Context, in doc.Value, w *view, hits []search.Hit) ([]search.Span, error) {
	unit, _ := search.ParseUnit(s.ContextType)
	switch {
	case s.ContextType == "lines":
		lines := s.ContextLines
		if lines == 0 {
			lines = 3
		}
		return search.Expand(w.text, hits, search.Lines, lines), nil
	case s.ContextType == "record":
		records, err := textRecords(ctx, in, w)
		if err != nil {
			return nil, err
		}
		if records == nil {
			break
		}
		return around(records, hits, w.lines), nil
	}
	spans := search.Expand(w.text, hits, unit, 0)
	if unit == search.Paragraph {
		spans = w.shortened(spans, hits)
	}
	return spans, nil
}

// shortened puts the lines around hits in place of a paragraph that is too long, such as
// a whole text without blank lines.
func (w *view) shortened(spans []search.Span, hits []search.Hit) []search.Span {
	var short []search.Span
	var inside []search.Hit // of long ones
	for _, s := range spans {
		if w.lines.Line(s.End)-w.lines.Line(s.Start) < maxParagraph {
			short = append(short, s)
			continue
		}
		for _, h := range hits {
			if h.Start >= s.Start && h.Start < s.End {
				inside = append(inside, h)
			}
		}
	}
	if inside == nil {
		return spans
	}
	short = append(short, search.Expand(w.text, inside, search.Lines, nearLines)...)
	slices.SortFunc(short, func(a, b search.Span) int { return cmp.Compare(a.Start, b.Start) })
	return short
}

// textRecords are the rows or entries of a text, nil if it has none.
func textRecords(ctx context.Context, in doc.Value, w *view) ([]search.Span, error) {
	return doc.Memoised(in, "text-records", func() ([]search.Span, int64, error) {
		var spans []search.Span
		add := func(s search.Span) { spans = append(spans, s) }
		if rows := rowsOf(in, w.text); rows != nil {
			for row := range rows.Rows() {
				add(search.Span{Start: row.Start, End: row.End})
			}
		} else if starts := digest.Entry(digest.Kind(w.text)); starts != nil {
			if err := entries(ctx, w.text, starts, len(w.text), add); err != nil {
				return nil, 0, err
			}
		}
		return spans, 16 * int64(cap(spans)), ctx.Err()
	})
}

// around returns the records that hits touch, and the line of a hit in none, such
// as a blank one. Records are in order.
func around(records []search.Span, hits []search.Hit, lines *search.LineTable) []search.Span {
	var spans []search.Span
	for _, h := range hits {
		before := len(spans)
		n := sort.Search(len(records), func(i int) bool { return records[i].End > h.Start })
		for n < len(records) && records[n].Start < max(h.End, h.Start+1) {
			spans = append(spans, records[n])
			n++
		}
		if len(spans) == before {
			spans = append(spans, lines.Span(h.Line))
		}
	}
	return joined(spans)
}

// joined merges spans that overlap. They begin in order.
func joined(spans []search.Span) []search.Span {
	var out []search.Span
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start < out[n-1].End {
			out[n-1].Start, out[n-1].End = min(out[n-1].Start, s.Start), max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// objectDepth is how many steps of path lead to the object that unit stands for: the
// innermost for a paragraph, the one around that for a section, the outermost object
// that is in an array for a record. It is -1 for a sentence, which is the value alone.
func objectDepth(path doc.Path, unit string) int {
	var depths []int // of the objects that path goes through
	for i, s := range path {
		if s.Kind != doc.StepKey {
			continue
		}
		if unit == "record" && i > 0 && path[i-1].Kind == doc.StepIndex {
			return i
		}
		depths = append(depths, i)
	}
	n := len(depths)
	switch {
	case unit == "record" || unit == "sentence" || n == 0:
		return -1
	case unit == "section" && n > 1:
		return depths[n-2]
	}
	return depths[n-1]
}

func indent(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }
