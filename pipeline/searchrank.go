package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"rlmproxy/pipeline/show"
	"rlmproxy/search"
)

// A ranking is what bm25 searches: passages of a text, or the records of
// JSON as they are written.
type ranking struct {
	index *search.Index
	text  []byte
	spans []search.Span // of records; nil for passages of text
	base  Path          // of the array that holds the records
	lines *search.LineTable
}

func (s *Search) ranked(ctx context.Context, in Value) (Value, error) {
	r, err := memoised(in, "search-index", func() (*ranking, int64, error) { return newRanking(ctx, in) })
	if err != nil {
		return Value{}, err
	}
	hits := r.index.Search(s.Pattern, s.TopK)
	out := Value{Kind: Text, Unit: "passages", Items: len(hits), Total: len(hits)}
	var b strings.Builder
	if len(hits) == 0 {
		fmt.Fprintf(&b, "0 passages for %s in %s bytes\n", show.Quote(show.Clip(s.Pattern, 80)), show.Count(len(r.text)))
		b.WriteString(`try other words, or "mode":"fuzzy" for another spelling` + "\n")
		out.Data = []byte(b.String())
		return out, nil
	}
	unit := "passages"
	if r.spans != nil {
		unit = "records"
	}
	fmt.Fprintf(&b, "best %s for %s\n", show.Plural(len(hits), unit), show.Quote(show.Clip(s.Pattern, 80)))
	for i, h := range hits {
		if i > 0 {
			b.WriteString("--\n")
		}
		r.print(&b, h)
	}
	out.Data = []byte(b.String())
	return out, nil
}

func newRanking(ctx context.Context, in Value) (*ranking, int64, error) {
	r := &ranking{text: in.Data}
	var passages []search.Span
	switch in.Kind {
	case JSONLines:
		r.spans = lineSpans(in.Data)
		passages = r.spans
	case JSON:
		if list, base := largestArray(in.Data, nil, 6); list != nil {
			r.base = base
			for _, e := range elements(list) {
				start := offsetIn(in.Data, e)
				r.spans = append(r.spans, search.Span{Start: start, End: start + len(e)})
			}
			passages = r.spans
		}
	}
	var size int64
	if passages == nil {
		// Inside of a build, the memo must not be asked again.
		in.Memo = nil
		v, err := viewOf(ctx, in)
		if err != nil {
			return nil, 0, err
		}
		r.text, r.lines = v.text, v.lines
		passages = search.Passages(r.text)
		size = int64(len(r.text)) + r.lines.SizeBytes()
	}
	index, err := search.NewIndex(ctx, r.text, passages)
	if err != nil {
		return nil, 0, err
	}
	r.index = index
	return r, size + index.SizeBytes() + 16*int64(len(r.spans)), nil
}

func (r *ranking) print(b *strings.Builder, h search.Hit) {
	if r.spans == nil {
		from, to := r.lines.Line(h.Start), r.lines.Line(max(h.End-1, h.Start))
		text := bytes.TrimSpace(r.text[h.Start:h.End])
		fmt.Fprintf(b, "lines %d–%d (score %.2f)\n%s\n", from, to, h.Score, show.Printable(text))
		return
	}
	n := 0
	for n < len(r.spans)-1 && r.spans[n].Start != h.Start {
		n++
	}
	at := r.base.with(Step{Kind: StepIndex, Index: n})
	fmt.Fprintf(b, "%s (score %.2f): %s\n", at, h.Score, show.Printable(elide(r.text[h.Start:h.End], maxPassage)))
}

// lineSpans are the records of JSON Lines.
func lineSpans(data []byte) []search.Span {
	spans := []search.Span{}
	for at := 0; at < len(data); {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			end = len(data) - at
		}
		if len(bytes.TrimSpace(data[at:at+end])) > 0 {
			spans = append(spans, search.Span{Start: at, End: at + end})
		}
		at += end + 1
	}
	return spans
}

// largestArray returns the array of two objects or more that is longest,
// the outermost if they are in one another.
func largestArray(data []byte, at Path, depth int) ([]byte, Path) {
	var best []byte
	var where Path
	switch kindOf(data) {
	case '[':
		objects := 0
		for _, e := range elements(data) {
			if kindOf(e) == '{' {
				if objects++; objects > 1 {
					return data, at
				}
			}
		}
	case '{':
		if depth == 0 {
			return nil, nil
		}
		for key, value := range members(data) {
			if len(value) <= len(best) || !isOpen(value) {
				continue
			}
			if list, p := largestArray(value, at.with(Step{Key: unquote(key)}), depth-1); len(list) > len(best) {
				best, where = list, p
			}
		}
	}
	return best, where
}

// offsetIn tells where part begins in data, which it is a slice of. Slicing
// keeps the end of the capacity, so the difference is the offset; nothing
// here cuts capacities.
func offsetIn(data, part []byte) int { return cap(data) - cap(part) }
