package find

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/search"
)

const (
	windowBytes  = 240 // of a long line, around its first match
	furtherBytes = 120 // around each further one that this leaves out
	maxSpanLines = 60  // of one context, shown whole
	nearLines    = 5   // on both sides of a match in a longer one
)

// A printer writes hits the way grep does: "12: a match", "13- context",
// "--" between what is not adjacent.
type printer struct {
	b     strings.Builder
	view  *view
	hits  []search.Hit
	paths []doc.Path
	first map[int]int           // line → its first hit
	more  map[int][]search.Span // line → its other hits
}

func newPrinter(v *view, hits []search.Hit) *printer {
	p := &printer{view: v, hits: hits, paths: v.hitPaths(hits), first: map[int]int{}, more: map[int][]search.Span{}}
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
	if !isMatch {
		fmt.Fprintf(&p.b, "%d- %s\n", n, windows(p.view.text, span, search.Span{Start: span.Start, End: span.Start}, nil))
		return
	}
	fmt.Fprintf(&p.b, "%d: %s", n, windows(p.view.text, span, p.hits[i].Span, p.more[n]))
	if p.paths != nil && len(p.paths[i]) > 0 {
		fmt.Fprintf(&p.b, "  (%s)", show.Clip(p.paths[i].String(), 200))
	}
	p.b.WriteByte('\n')
}

// inOrder prints hits that are in document order.
func (p *printer) inOrder(around int) {
	last := 0
	for _, h := range p.hits {
		from, to := max(h.Line-around, 1), min(h.Line+around, p.view.lines.Len())
		if last > 0 && from > last+1 && around > 0 {
			p.b.WriteString("--\n")
		}
		for n := max(from, last+1); n <= to; n++ {
			p.line(n)
			last = n
		}
	}
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

// spans prints contexts in document order. Two sentences may share a line, which
// is printed once.
func (p *printer) spans(spans []search.Span) {
	last := 0
	for _, s := range spans {
		from, to := p.view.lines.Line(s.Start), p.view.lines.Line(max(s.End-1, s.Start))
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
	parts := []search.Span{partOf(text, line, hit, windowBytes)}
	shows := func(p, h search.Span) bool {
		return p.Start <= h.Start && min(h.End, h.Start+furtherBytes/2) <= p.End
	}
	more = slices.SortedFunc(slices.Values(more), func(a, b search.Span) int { return cmp.Compare(a.Start, b.Start) })
	for _, h := range more {
		if !shows(parts[0], h) && !shows(parts[len(parts)-1], h) {
			parts = append(parts, partOf(text, line, h, furtherBytes))
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

// partOf is size bytes of a line, a third of them before hit.
func partOf(text []byte, line, hit search.Span, size int) search.Span {
	from := max(line.Start, hit.Start-size/3)
	to := min(line.End, from+size)
	for from > line.Start && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < line.End && !utf8.RuneStart(text[to]) {
		to++
	}
	return search.Span{Start: from, End: to}
}
