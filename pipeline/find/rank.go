package find

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/locate"
	"rlmproxy/pipeline/show"
	"rlmproxy/search"
)

const (
	maxPassage  = 1200 // bytes of a unit that is shown whole
	maxMatched  = 5    // places shown of a unit that is not shown whole
	shortRecord = 500  // bytes of one whose matching places follow
)

// A ranking is what bm25 searches.
type ranking struct {
	index *search.Index
	units *units
}

func (s *Search) ranked(ctx context.Context, in doc.Value) (doc.Value, error) {
	r, err := doc.Memoised(in, "search-index", func() (*ranking, int64, error) { return newRanking(ctx, in) })
	if err != nil {
		return doc.Value{}, err
	}
	hits, total := r.index.Rank(s.Pattern, s.Offset+s.MaxResults)
	out := doc.Value{Kind: doc.Text, Unit: r.units.of, Total: total}
	of := show.Quote(show.Clip(s.Pattern, 80))
	if total == 0 {
		out.Data = fmt.Appendf(nil, "0 %s for %s in %s bytes\ntry other words, or \"mode\":\"fuzzy\" for another spelling\n", r.units.of, of, show.Count(len(in.Data)))
		return out, nil
	}
	if s.ContextLines > 0 && r.units.lines == nil {
		out.Note = "context_lines has no effect here: each hit is a whole value"
	}
	hits = hits[min(s.Offset, len(hits)):]
	found := make([]unit, len(hits))
	for i, h := range hits {
		found[i] = r.units.list[h.Passage]
	}
	paths, leads := r.units.paths(found), r.units.leads(found)
	head := func(n int) string {
		if n == total {
			return fmt.Sprintf("best %s for %s", show.Plural(n, r.units.of), of)
		}
		return fmt.Sprintf("best %s of %s for %s", show.Count(n), show.Plural(total, r.units.of), of)
	}
	out.Items, out.Data, err = s.fitting(len(hits), total, head, func(n int) (string, error) {
		p := rankPrinter{ctx: ctx, query: s.Pattern, around: s.ContextLines, units: r.units}
		p.b.WriteString(r.units.head)
		for i, h := range hits[:n] {
			if i > 0 && r.units.of != "rows" {
				p.b.WriteString("--\n")
			}
			p.b.WriteString(leads[i])
			if err := p.print(found[i], paths[i], h.Score); err != nil {
				return "", err
			}
		}
		return p.b.String(), nil
	})
	return out, err
}

// leads are the commit and file of each unit in a diff or a log of commits.
func (u *units) leads(list []unit) []string {
	leads := make([]string, len(list))
	if u.lines == nil {
		return leads
	}
	w := &view{text: u.text, kind: digest.Kind(u.text)}
	h := historyOf(w)
	if h == nil {
		return leads
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(list[a].start, list[b].start) })
	for _, i := range order {
		start := int(list[i].start)
		h.to(u.lines.Span(u.lines.Line(start)).End)
		if start >= h.headed { // else it is the commit's head
			leads[i] = h.lead(history{})
		}
	}
	return leads
}

func newRanking(ctx context.Context, in doc.Value) (*ranking, int64, error) {
	document := in.Data
	in.Memo = nil // inside of a build it must not be asked
	u, err := unitsOf(ctx, in)
	if err != nil {
		return nil, 0, err
	}
	index, err := search.NewIndex(ctx, u.plain, u.spans())
	if err != nil {
		return nil, 0, err
	}
	u.plain, u.list = nil, slices.Clone(u.list) // which grew by more than it needs
	return &ranking{index, u}, index.SizeBytes() + u.sizeBytes(document), nil
}

// A rankPrinter writes units: where, score, and what of it matched.
type rankPrinter struct {
	ctx    context.Context
	b      strings.Builder
	query  string
	around int // lines of text before and after
	units  *units
}

// paths are those of the first value of each unit, nothing for units of text.
func (u *units) paths(list []unit) []doc.Path {
	if u.of != "records" && u.of != "values" {
		return make([]doc.Path, len(list))
	}
	offsets := make([]int, len(list))
	for i, one := range list {
		offsets[i] = int(one.start)
		if one.kind == unitPiece {
			offsets[i] = int(one.inside)
		}
	}
	return pathsAt(u.text, offsets, u.many)
}

// print writes a unit, whose first value is at at.
func (p *rankPrinter) print(one unit, at doc.Path, score float64) error {
	u := p.units
	raw := u.text[one.start:one.end]
	switch one.kind {
	case unitLines:
		p.lines(one, score)
	case unitPiece:
		quoted := u.text[one.inside:jsonscan.SkipString(u.text, int(one.inside))]
		part := jsonscan.AppendUnescaped(nil, quoted[1:len(quoted)-1])[one.start-one.inside-1:]
		part = bytes.TrimSpace(part[:len(raw)])
		fmt.Fprintf(&p.b, "%s, %s of %s bytes (score %.2f):\n%s\n", at, show.Count(len(part)), show.Count(len(quoted)-2), score, show.Printable(part))
	case unitGroup:
		fmt.Fprintf(&p.b, "%s (score %.2f): %s\n", where(at[:len(at)-1]), score, show.Printable(u.group(one, at)))
	default:
		value := raw
		if at[len(at)-1].Kind == doc.StepKey {
			colon := jsonscan.SkipSpace(raw, jsonscan.SkipString(raw, 0))
			value = raw[jsonscan.SkipSpace(raw, colon+1):]
		}
		return p.value(at, value, score)
	}
	return nil
}

// group writes a unit of several members or elements as a part of their container,
// "…" standing for those before and after.
func (u *units) group(one unit, at doc.Path) string {
	open, shut := byte('['), byte(']')
	raw := u.text[one.start:one.end]
	if at[len(at)-1].Kind == doc.StepKey {
		open, shut = '{', '}'
	} else if u.many && len(at) == 1 {
		raw = bytes.Join(slices.Collect(jsonscan.Lines(raw)), []byte{','}) // JSON Lines have none
	}
	out := []byte{open}
	if before := bytes.TrimRight(u.text[:one.start], " \t\r\n"); len(before) > 0 && before[len(before)-1] != open {
		out = append(out, "…,"...)
	}
	out = jsonscan.AppendMinified(out, raw)
	if next := jsonscan.SkipSpace(u.text, int(one.end)); next < len(u.text) && u.text[next] != shut {
		out = append(out, ",…"...)
	}
	return string(append(out, shut))
}

const topLevel = "top level"

// where names a place in JSON, the root too.
func where(at doc.Path) string {
	if len(at) == 0 {
		return topLevel
	}
	return at.String()
}

// value prints a value, and of one that must be shortened the places that
// matched.
func (p *rankPrinter) value(at doc.Path, value []byte, score float64) error {
	if short := show.Elide(value, maxPassage); len(value) <= maxPassage || !strings.Contains(short, "…") {
		fmt.Fprintf(&p.b, "%s (score %.2f): %s\n", where(at), score, show.Printable(short))
		return nil
	}
	fmt.Fprintf(&p.b, "%s (score %.2f), %s bytes: %s\n", where(at), score, show.Count(len(value)), show.Printable(show.Elide(value, shortRecord)))
	plain := unescaped(value)
	var offsets []int
	for _, h := range search.Highlight(plain, search.Span{End: len(plain)}, p.query, 4*maxMatched) {
		offsets = append(offsets, h.Start)
	}
	shown := map[string]bool{}
	for _, path := range pathsAt(value, offsets, false) {
		if len(shown) == maxMatched || shown[path.String()] {
			continue
		}
		shown[path.String()] = true
		leaf, err := locate.Find(p.ctx, doc.Value{Kind: doc.JSON, Data: value}, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&p.b, "  %s: %s\n", show.Clip(path.JQ(), 200), p.leaf(leaf.Data))
	}
	return nil
}

// leaf is a value, cut to what is around the first match.
func (p *rankPrinter) leaf(value []byte) string {
	if jsonscan.Kind(value) != '"' {
		return show.Printable(show.Elide(value, windowBytes))
	}
	text := []byte(jsonscan.Unquote(value))
	whole := search.Span{End: len(text)}
	hits := search.Highlight(text, whole, p.query, 1)
	around := search.Span{}
	if len(hits) > 0 {
		around = hits[0]
	}
	return `"` + strings.ReplaceAll(window(text, whole, around), "\n", `\n`) + `"`
}

// lines prints lines of text, of which a long unit shows those that matched.
func (p *rankPrinter) lines(one unit, score float64) {
	u := p.units
	text := bytes.TrimRight(u.text[one.start:one.end], " \t\r\n")
	from, to := u.lines.Line(int(one.start)), u.lines.Line(int(one.start)+max(len(text)-1, 0))
	first, last := max(from-p.around, 1), min(to+p.around, u.lines.Len())
	if first == last {
		fmt.Fprintf(&p.b, "line %d (score %.2f): %s\n", from, score, p.line(first))
		return
	}
	fmt.Fprintf(&p.b, "lines %d–%d (score %.2f)\n", from, to, score)
	matched := map[int]bool{}
	if len(text) > maxPassage {
		for _, h := range search.Highlight(u.text, search.Span{Start: int(one.start), End: int(one.end)}, p.query, 4*maxMatched) {
			n := u.lines.Line(h.Start)
			for m := n - 2; m <= n+2; m++ {
				matched[m] = true
			}
		}
	}
	left := 0
	for n := first; n <= last+1; n++ {
		if n <= last && len(text) > maxPassage && n > from+2 && n < to && !matched[n] {
			left++
			continue
		}
		if left > 0 {
			fmt.Fprintf(&p.b, "… %s left out …\n", show.Plural(left, "lines"))
			left = 0
		}
		if n <= last {
			p.b.WriteString(p.line(n) + "\n")
		}
	}
}

// line n, around what matched if it is long.
func (p *rankPrinter) line(n int) string {
	span := p.units.lines.Span(n)
	if span.Len() <= maxPassage {
		return show.Printable(p.units.text[span.Start:span.End])
	}
	around := search.Span{Start: span.Start, End: span.Start}
	if hits := search.Highlight(p.units.text, span, p.query, 1); len(hits) > 0 {
		around = hits[0]
	}
	return window(p.units.text, span, around)
}
