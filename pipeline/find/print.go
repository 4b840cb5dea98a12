package find

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rlmproxy/pipeline/show"
	"rlmproxy/search"
)

const (
	windowBytes  = 240 // of a long line, around its first match
	furtherBytes = 120 // around each further one that this leaves out
	maxSpanLines = 60  // of one context, shown whole
	maxParagraph = 25  // of a paragraph; of a longer one only
	nearLines    = 5   // on both sides of a match are shown
)

// A printer writes hits the way grep does: "12: a match", "13- context",
// "--" between what is not adjacent. The lines of JSON, which nobody sees so, have no
// numbers but paths.
type printer struct {
	b     strings.Builder
	view  *view
	hits  []search.Hit
	paths []string              // of hits in JSON, else nil
	first map[int]int           // line → its first hit
	more  map[int][]search.Span // line → its other hits
}

func newPrinter(v *view, hits []search.Hit) *printer {
	p := &printer{view: v, hits: hits, first: map[int]int{}, more: map[int][]search.Span{}}
	p.b.WriteString(v.head)
	if v.isJSON {
		p.paths = make([]string, len(hits))
		visitPlaces(v.text, hits, v.many, func(i int, at place) bool {
			p.paths[i] = shortPath(at.path)
			return true
		})
	}
	for i, h := range hits {
		if _, ok := p.first[h.Line]; ok {
			p.more[h.Line] = append(p.more[h.Line], h.Span)
		} else {
			p.first[h.Line] = i
		}
	}
	return p
}

// line prints line n, as a match if it holds one.
func (p *printer) line(n int) {
	span := p.view.lines.Span(n)
	i, isMatch := p.first[n]
	if p.paths == nil {
		p.b.WriteString(strconv.Itoa(n))
	}
	if !isMatch {
		fmt.Fprintf(&p.b, "- %s\n", windows(p.view.text, span, search.Span{Start: span.Start, End: span.Start}, nil))
		return
	}
	fmt.Fprintf(&p.b, ": %s", windows(p.view.text, span, p.hits[i].Span, p.more[n]))
	if p.paths != nil && p.paths[i] != "" {
		fmt.Fprintf(&p.b, "  (%s)", p.paths[i])
	}
	p.b.WriteByte('\n')
}

// inOrder prints hits that are in document order, in a log of commits below the commit
// and file of each, and without lines around them in a log with the rest of their entries.
func (p *printer) inOrder(around int) {
	h := historyOf(p.view)
	entries := entriesOf(p.view, len(p.first))
	last := 0
	for i, hit := range p.hits {
		if p.first[hit.Line] != i {
			continue
		}
		from, to := max(hit.Line-around, 1), min(hit.Line+around, p.view.lines.Len())
		if h != nil {
			before, line := *h, p.view.lines.Span(hit.Line)
			h.to(line.End)
			p.b.WriteString(h.lead(before))
			if h.commit != "" && line.End <= h.headed && around == 0 {
				continue // the line above has it
			}
		}
		if last > 0 && from > last+1 && around > 0 {
			p.b.WriteString("--\n")
		}
		left := 0
		if entries != nil && around == 0 {
			var head int
			if head, to, left = entries.around(hit.Line); head > last && head < hit.Line {
				p.line(head)
			}
		}
		for n := max(from, last+1); n <= to; n++ {
			p.line(n)
			last = n
		}
		if left > 0 && p.nextAfter(i) > to+left {
			fmt.Fprintf(&p.b, "… %s more …\n", show.Plural(left, "lines"))
		}
	}
}

// nextAfter is the line of the hit behind i on another one, or a line that is none.
func (p *printer) nextAfter(i int) int {
	for _, h := range p.hits[i:] {
		if h.Line > p.hits[i].Line {
			return h.Line
		}
	}
	return math.MaxInt
}

// best prints hits in the order of their score, which stands in front.
func (p *printer) best(around int) {
	done := map[int]bool{}
	for _, h := range p.hits {
		if done[h.Line] {
			continue
		}
		done[h.Line] = true
		if around > 0 && len(done) > 1 {
			p.b.WriteString("--\n")
		}
		for n := max(h.Line-around, 1); n <= min(h.Line+around, p.view.lines.Len()); n++ {
			if n == h.Line {
				fmt.Fprintf(&p.b, "%.2f ", h.Score)
			}
			p.line(n)
		}
	}
}

// spans prints contexts in document order, and lines around them. Two sentences may share a line, which
// is printed once.
func (p *printer) spans(spans []search.Span, around int) {
	last := 0
	for _, s := range spans {
		from, to := p.view.lines.Line(s.Start)-around, min(p.view.lines.Line(max(s.End-1, s.Start))+around, p.view.lines.Len())
		if from = max(from, last+1); from > to {
			continue
		}
		if last > 0 {
			p.b.WriteString("--\n")
		}
		p.span(from, to)
		last = to
	}
}

// span prints the lines of one context. Of one that is too long, such as source
// code without a blank line, it prints a few lines around each match.
func (p *printer) span(from, to int) {
	long := to-from >= maxSpanLines
	left, until := 0, 0
	for n := from; n <= to; n++ {
		if long {
			if _, isMatch := p.first[n]; isMatch {
				until = n + nearLines
			}
			if n > until && !p.matchWithin(n, nearLines) {
				left++
				continue
			}
		}
		if left > 0 {
			fmt.Fprintf(&p.b, "… %s left out …\n", show.Plural(left, "lines"))
			left = 0
		}
		p.line(n)
	}
	if left > 0 {
		fmt.Fprintf(&p.b, "… %s left out …\n", show.Plural(left, "lines"))
	}
}

// matchWithin reports whether one of the next lines is a match.
func (p *printer) matchWithin(n, lines int) bool {
	for m := n + 1; m <= n+lines; m++ {
		if _, ok := p.first[m]; ok {
			return true
		}
	}
	return false
}

// window is the part of a line around hit, all of it if it is short.
func window(text []byte, line, hit search.Span) string { return windows(text, line, hit, nil) }

// windows is the part of a line around hit, and parts around those of more that
// it does not show.
func windows(text []byte, line, hit search.Span, more []search.Span) string {
	if line.Len() <= windowBytes+80 {
		return show.Printable(text[line.Start:line.End])
	}
	parts := partsOf(text, line, hit, windowBytes)
	more = slices.SortedFunc(slices.Values(more), func(a, b search.Span) int { return cmp.Compare(a.Start, b.Start) })
	for _, h := range more {
		// Both are in order, so only the first parts and the last can have it.
		if !slices.ContainsFunc([]search.Span{parts[0], parts[len(parts)-1]}, func(p search.Span) bool { return p.Start <= h.Start && h.End <= p.End }) {
			parts = append(parts, partsOf(text, line, h, furtherBytes)...)
		}
	}
	slices.SortFunc(parts, func(a, b search.Span) int { return cmp.Compare(a.Start, b.Start) })
	var b strings.Builder
	at := line.Start
	for _, p := range parts {
		if p.Start > at {
			b.WriteString("…")
		}
		if p.End > at {
			b.WriteString(show.Printable(text[max(at, p.Start):p.End]))
			at = p.End
		}
	}
	if at < line.End {
		b.WriteString("…")
	}
	return b.String()
}

// partsOf are about size bytes of a line with hit in their middle, or the parts around
// both ends of a hit that is longer.
func partsOf(text []byte, line, hit search.Span, size int) []search.Span {
	if hit.Len() <= size*2/3 {
		return []search.Span{partOf(text, line, hit, size)}
	}
	head, tail := search.Span{Start: hit.Start, End: hit.Start + size/6}, search.Span{Start: hit.End - size/6, End: hit.End}
	return []search.Span{partOf(text, line, head, size/2), partOf(text, line, tail, size/2)}
}

// partOf is size bytes of a line with hit in their middle, as far as the line has as
// many on both sides.
func partOf(text []byte, line, hit search.Span, size int) search.Span {
	from := max(line.Start, min(hit.Start-(size-hit.Len())/2, line.End-size))
	to := min(line.End, from+size)
	for from > line.Start && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < line.End && !utf8.RuneStart(text[to]) {
		to++
	}
	return search.Span{Start: from, End: to}
}
