package find

import (
	"bytes"
	"context"
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
	case w.isJSON:
		return w.objects(ctx, hits, s.ContextType)
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
	return search.Expand(w.text, hits, unit, 0), nil
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
			entries(ctx, w.text, starts, len(w.text), add)
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

// objects returns what stands for a unit of text around each hit in JSON: the
// innermost object for a paragraph, the one around that for a section, the line
// for a sentence.
func (w *view) objects(ctx context.Context, hits []search.Hit, unit string) ([]search.Span, error) {
	levels := map[string]int{"": 1, "paragraph": 1, "section": 2}[unit]
	var records []int // for each hit, how deep its record is
	if unit == "record" {
		levels = 0 // for what is in none
		for _, path := range w.hitPaths(hits) {
			records = append(records, recordDepth(path))
		}
	}
	spans := make([]search.Span, 0, len(hits))
	first, last := 0, 0 // lines of the span before, which hits in it share
	for i, h := range hits {
		if h.Line > first && h.Line <= last && unit == "record" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		from, to := h.Line, h.Line
		if records != nil && records[i] > 0 {
			from, to = w.atDepth(h.Line, records[i])
		} else {
			for range levels {
				from, to = w.object(from, to)
			}
		}
		spans = append(spans, search.Span{Start: w.lines.Span(from).Start, End: w.lines.Span(to).End})
		first, last = from, to
	}
	return joined(spans), nil
}

// recordDepth is how many steps of path lead to the outermost object that is in
// an array, 0 if none does.
func recordDepth(path doc.Path) int {
	for i := 0; i+1 < len(path); i++ {
		if path[i].Kind == doc.StepIndex && path[i+1].Kind == doc.StepKey {
			return i + 1
		}
	}
	return 0
}

// atDepth returns the first and last line of the value around line n that is so
// many steps deep.
func (w *view) atDepth(n, depth int) (first, last int) {
	if w.many {
		depth--
	}
	margin := 2 * min(depth, maxIndent)
	first, last = n, n
	for first > 1 && w.indentOf(first) > margin {
		first--
	}
	for last < w.lines.Len() && (last == first || w.indentOf(last) > margin) {
		last++
	}
	return first, last
}

// object returns the lines of the object around the lines from to to, by their
// indentation, or from and to themselves at the top.
func (w *view) object(from, to int) (first, last int) {
	const far = 20_000 // lines; an object that is larger is no context
	for n := from - 1; n >= 1 && from-n < far; n-- {
		span := w.lines.Span(n)
		line := w.text[span.Start:span.End]
		if indent(line) >= w.indentOf(from) || len(line) == 0 || line[len(line)-1] != '{' {
			continue
		}
		for m := to + 1; m <= w.lines.Len() && m-to < far; m++ {
			if w.indentOf(m) <= indent(line) {
				return n, m
			}
		}
		break
	}
	return from, to
}

func (w *view) indentOf(n int) int {
	span := w.lines.Span(n)
	return indent(w.text[span.Start:span.End])
}

func indent(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }
