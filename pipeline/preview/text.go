package preview

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// maxLineRunes of a line of head and tail are shown, unless there is room for
// more.
const maxLineRunes = 160

// A room says how much of a layout is for what.
type room struct {
	parts int // percent of the budget for the upper part
	rows  int // of one part
	ends  int // lines of head and of tail; 0 is as many as fit
}

var (
	previewRoom = room{parts: 65, rows: 500}
	outlineRoom = room{parts: 85, rows: 60, ends: 5}
)

// digestOf makes the digest of v, once for one memo.
func digestOf(ctx context.Context, v doc.Value) (*digest.Digest, error) {
	return doc.Memoised(v, "text-digest", func() (*digest.Digest, int64, error) {
		d, err := digest.Of(ctx, v.Data)
		if err != nil {
			return nil, 0, err
		}
		return d, d.SizeBytes(), nil
	})
}

// text fills s with what v is, what stands out, the head and the tail.
func (s *layout) text(v doc.Value) {
	d, err := digestOf(context.Background(), v)
	if err != nil { // cannot be: nothing ends this context
		d = &digest.Digest{Kind: "text"}
	}
	s.digest(d, v, previewRoom)
}

// firstOf is the first line of a preview: what there is in all.
func firstOf(d *digest.Digest, v doc.Value) string {
	parts := append([]string{d.Kind, show.Plural(doc.CountLines(v.Data), "lines"), show.Count(len(v.Data)) + " bytes"}, d.Facts...)
	return show.Printable(strings.Join(parts, ", "))
}

func (s *layout) digest(d *digest.Digest, v doc.Value, r room) {
	if named := *d; s.form != "" && d.Kind == "plain text" {
		named.Kind, named.Facts = s.form, nil
		d = &named
	} else if s.form != "" && d.Kind == "configuration" {
		named.Kind += " (" + s.form + ")"
		d = &named
	}
	s.first(firstOf(d, v))
	if s.seen != "" {
		s.note(s.seen, 0)
	}
	room := s.budget*r.parts/100 - (s.budget - s.left)
	for i := range d.Parts {
		p := &d.Parts[i]
		limit := room
		if p.Share > 0 {
			limit = min(room, s.budget*p.Share/100)
		}
		before := s.left
		s.part(p, limit, r.rows)
		room -= before - s.left
	}
	switch {
	case d.Opaque:
		s.item(0, show.Numbered(0, firstLine(v.Data[:min(len(v.Data), 200)]), 24), 0)
	case s.total <= 1:
		s.longLine(v.Data)
	default:
		s.ends(d, v.Data, r)
	}
}

func firstLine(data []byte) []byte {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return line
}

// part adds a part with as many of its rows as limit tokens hold, and says
// how many are not shown.
func (s *layout) part(p *digest.Part, limit, most int) {
	if limit = min(limit, s.left); limit <= 0 {
		return
	}
	if p.Words != "" {
		s.note(p.Words, s.left-limit)
		return
	}
	if p.Most > 0 {
		most = min(most, p.Most)
	}
	title := func(shown int) string {
		if shown == p.Total {
			return p.Title + ":"
		}
		some := fmt.Sprintf("%s of %s", show.Count(shown), show.Count(p.Total))
		if p.Even {
			some += ", spread evenly"
		}
		if p.Find != "" {
			some += "; " + p.Find
		}
		return p.Title + " (" + some + "):"
	}
	rows := choose(p, limit-lineTokens(title(-1)), most)
	if len(rows) == 0 || !s.note(title(len(rows)), 0) {
		return
	}
	for _, line := range rows {
		s.note(line, 0)
	}
}

// choose returns rows in order, the lower ranks first, as many as fit.
func choose(p *digest.Part, budget, most int) []string {
	byRank := map[int][]int{}
	ranks := 0
	for i, r := range p.Rows {
		byRank[r.Rank] = append(byRank[r.Rank], i)
		ranks = max(ranks, r.Rank+1)
	}
	lines := map[int]string{}
	for rank := 0; rank < ranks && budget > 0 && len(lines) < most; rank++ {
		all := byRank[rank]
		some, cost := fit(p, all, budget, most-len(lines))
		for _, i := range some {
			lines[i] = p.Rows[i].String()
		}
		if budget -= cost; len(some) < len(all) {
			break
		}
	}
	out := make([]string, 0, len(lines))
	for i := range p.Rows {
		if line, ok := lines[i]; ok {
			out = append(out, line)
		}
	}
	return out
}

// fit chooses among rows of one rank: all, or the first, or some from all
// over. A row has three tokens at least, so few are counted.
func fit(p *digest.Part, all []int, budget, most int) (some []int, cost int) {
	for n := min(len(all), most, budget/3+1); n > 0; {
		some, cost = some[:0], 0
		for i := range n {
			at := all[i]
			if p.Even {
				at = all[i*len(all)/n]
			}
			c := lineTokens(p.Rows[at].String())
			if cost+c > budget && !p.Even {
				return some, cost
			}
			cost += c
			some = append(some, at)
		}
		if cost <= budget {
			return some, cost
		}
		n = min(n-1, n*budget/cost)
	}
	return nil, 0
}

// ends adds the lines that stand out, the first, the last, and more of both.
func (s *layout) ends(d *digest.Digest, data []byte, r room) {
	width := max(maxLineRunes, 2*s.left/s.total)
	keep := s.left / 3
	for _, p := range d.Highlights {
		if !s.item(p.N, show.Numbered(p.N, p.Text, width), keep) && s.left-keep < 15 {
			break
		}
	}
	// More lines than this never fit: a line has two tokens or more.
	most := s.left/2 + 2
	for _, n := range []int{r.ends, d.EndLines} {
		if n > 0 {
			most = min(most, n)
		}
	}
	// Of a short text the head would be all, and failures stand at the end.
	last := min(most, s.total/2)
	head, tail := ends(data, min(d.Preamble+most, s.total-last), last)
	number := func(i int) int { return s.total - len(tail) + i }
	if s.item(0, show.Numbered(0, head[0], width), 0) && len(tail) > 0 {
		i := len(tail) - 1
		s.item(number(i), show.Numbered(number(i), tail[i], width), 0)
	}
	add := func(from, to int, reserve int) {
		for n := from; n < min(to, len(head)); n++ {
			if !s.item(n, show.Numbered(n, head[n], width), reserve) {
				return
			}
		}
	}
	add(d.Preamble, len(head), s.left/2)
	for i := len(tail) - 1; i >= 0; i-- {
		if !s.item(number(i), show.Numbered(number(i), tail[i], width), 0) {
			break
		}
	}
	add(d.Preamble, len(head), 0)
	if r.ends == 0 && d.EndLines == 0 {
		add(0, d.Preamble, 0)
	}
}

// ends returns the first and last lines, none of them twice.
func ends(data []byte, first, last int) (head, tail [][]byte) {
	rest := data
	for len(head) < first && len(rest) > 0 {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		head = append(head, rest[:end])
		rest = rest[end:]
	}
	for len(tail) < last && len(rest) > 0 {
		start := bytes.LastIndexByte(rest[:len(rest)-1], '\n') + 1
		tail = append(tail, rest[start:])
		rest = rest[:start]
	}
	for i, j := 0, len(tail)-1; i < j; i, j = i+1, j-1 {
		tail[i], tail[j] = tail[j], tail[i]
	}
	return head, tail
}

// longLine shows both ends of a text that is one line.
func (s *layout) longLine(data []byte) {
	if s.left < 20 || len(data) == 0 {
		return
	}
	// The parts are counted again after what is invalid was replaced, which
	// can be longer than it was.
	part := (s.left - 20) / 2
	data = bytes.TrimRight(data, "\r\n")
	h := tokens.Prefix(data, part)
	n := min(tokens.Suffix(data, part), len(data)-h)
	head, tail := show.Printable(data[:h]), show.Printable(data[len(data)-n:])
	s.item(0, fmt.Sprintf("1: %s … %s bytes left out, up to byte %s … %s", head, show.Count(len(data)-h-n), show.Count(len(data)-n), tail), 0)
}
