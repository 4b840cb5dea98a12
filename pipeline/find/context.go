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
// for a sentence, and the outermost object that is in an array for a record.
func (w *view) objects(ctx context.Context, hits []search.Hit, unit string) ([]search.Span, error) {
	spans := make([]search.Span, 0, len(hits))
	first, last := 0, 0 // lines of the span before, which hits in it share
	for i, path := range w.hitPaths(hits) {
		line := hits[i].Line
		if line > first && line <= last && unit == "record" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		first, last = line, line
		if depth := objectDepth(path, unit); depth >= 0 {
			first, last = w.atDepth(line, depth)
		}
		spans = append(spans, search.Span{Start: w.lines.Span(first).Start, End: w.lines.Span(last).End})
	}
	return joined(spans), nil
}

// objectDepth is how many steps of path lead to the object that unit stands for, or
// -1 for the line.
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

// atDepth returns the first and last line of the value around line n that is so
// many steps deep, or n for one that is too large to be a context.
func (w *view) atDepth(n, depth int) (first, last int) {
	const far = 20_000 // lines
	if w.many {
		depth--
	}
	margin := 2 * min(depth, maxIndent)
	for first = n; first > 1 && w.indentOf(first) > margin && n-first < far; {
		first--
	}
	for last = n; last < w.lines.Len() && (last == first || w.indentOf(last) > margin) && last-n < far; {
		last++
	}
	if n-first == far || last-n == far {
		return n, n
	}
	return first, last
}

func (w *view) indentOf(n int) int {
	span := w.lines.Span(n)
	return indent(w.text[span.Start:span.End])
}

func indent(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }
