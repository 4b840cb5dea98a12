package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"rlmproxy/pipeline/tokens"
)

// A room says how much of a sheet is for what.
type room struct {
	parts int // percent of the budget for the upper part
	rows  int // of one part
	ends  int // lines of head and of tail; 0 is as many as fit
}

var (
	previewRoom = room{parts: 65, rows: 500}
	outlineRoom = room{parts: 85, rows: 60, ends: 5}
)

// text fills s with what v is, what stands out, the head and the tail.
func (s *sheet) text(v Value) {
	d, err := digestOf(context.Background(), v)
	if err != nil { // cannot be: nothing ends this context
		d = &digest{kind: "text"}
	}
	s.digest(d, v, previewRoom)
}

func (s *sheet) digest(d *digest, v Value, r room) {
	s.first(d.first(v))
	room := s.budget*r.parts/100 - (s.budget - s.left)
	for i := range d.parts {
		p := &d.parts[i]
		limit := room
		if p.share > 0 {
			limit = min(room, s.budget*p.share/100)
		}
		before := s.left
		s.part(p, limit, r.rows)
		room -= before - s.left
	}
	switch {
	case d.brief:
		s.item(0, showLine(0, firstLine(v.Data[:min(len(v.Data), 200)]), 24), 0)
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
func (s *sheet) part(p *part, limit, most int) {
	if limit = min(limit, s.left); limit <= 0 {
		return
	}
	if p.words != "" {
		s.note(p.words, s.left-limit)
		return
	}
	if p.most > 0 {
		most = min(most, p.most)
	}
	title := func(shown int) string {
		if shown == p.total {
			return p.title + ":"
		}
		some := fmt.Sprintf("%s of %s", Comma(shown), Comma(p.total))
		if p.even {
			some += " from all over"
		}
		if p.find != "" {
			some += "; " + p.find
		}
		return p.title + " (" + some + "):"
	}
	rows := p.choose(limit-lineTokens(title(-1)), most)
	if len(rows) == 0 || !s.note(title(len(rows)), 0) {
		return
	}
	for _, line := range rows {
		s.note(line, 0)
	}
}

// choose returns rows in order, the lower ranks first, as many as fit.
func (p *part) choose(budget, most int) []string {
	byRank := map[int][]int{}
	ranks := 0
	for i, r := range p.rows {
		byRank[r.rank] = append(byRank[r.rank], i)
		ranks = max(ranks, r.rank+1)
	}
	lines := map[int]string{}
	for rank := 0; rank < ranks && budget > 0 && len(lines) < most; rank++ {
		all := byRank[rank]
		some, cost := p.fit(all, budget, most-len(lines))
		for _, i := range some {
			lines[i] = p.rows[i].show()
		}
		if budget -= cost; len(some) < len(all) {
			break
		}
	}
	out := make([]string, 0, len(lines))
	for i := range p.rows {
		if line, ok := lines[i]; ok {
			out = append(out, line)
		}
	}
	return out
}

// fit chooses among rows of one rank: all, or the first, or some from all
// over. A row has three tokens at least, so few are counted.
func (p *part) fit(all []int, budget, most int) (some []int, cost int) {
	for n := min(len(all), most, budget/3+1); n > 0; {
		some, cost = some[:0], 0
		for i := range n {
			at := all[i]
			if p.even {
				at = all[i*len(all)/n]
			}
			c := lineTokens(p.rows[at].show())
			if cost+c > budget && !p.even {
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
func (s *sheet) ends(d *digest, data []byte, r room) {
	width := max(maxLineRunes, 2*s.left/s.total)
	keep := s.left / 3
	for _, p := range d.picks {
		if !s.item(p.n, showLine(p.n, p.line, width), keep) && s.left-keep < 15 {
			break
		}
	}
	// More lines than this never fit: a line has two tokens or more.
	most := s.left/2 + 2
	for _, n := range []int{r.ends, d.ends} {
		if n > 0 {
			most = min(most, n)
		}
	}
	head, tail := ends(data, d.dull+most, most)
	last := func(i int) int { return s.total - len(tail) + i }
	if s.item(0, showLine(0, head[0], width), 0) && len(tail) > 0 {
		i := len(tail) - 1
		s.item(last(i), showLine(last(i), tail[i], width), 0)
	}
	add := func(from, to int, reserve int) {
		for n := from; n < min(to, len(head)); n++ {
			if !s.item(n, showLine(n, head[n], width), reserve) {
				return
			}
		}
	}
	add(d.dull, len(head), s.left*2/5)
	for i := len(tail) - 1; i >= 0; i-- {
		if !s.item(last(i), showLine(last(i), tail[i], width), 0) {
			break
		}
	}
	add(d.dull, len(head), 0)
	if r.ends == 0 && d.ends == 0 {
		add(0, d.dull, 0)
	}
}

// showLine is line n, counted from 0, as an agent reads it: with its number as
// editors count, which also keeps a line from being taken for one of ours.
func showLine(n int, line []byte, runes int) string {
	return fmt.Sprintf("%d: %s", n+1, cutLine(line, runes))
}

// cutLine makes a line fit for a reply: valid UTF-8, no newline, not long.
func cutLine(line []byte, runes int) string {
	line = bytes.TrimRight(line, "\r\n")
	cut := line[:min(len(line), 4*runes+4)]
	s := clip(strings.ReplaceAll(strings.ToValidUTF8(string(cut), "�"), "\x00", "�"), runes)
	if len(cut) < len(line) || strings.HasSuffix(s, "…") && len(line) > len(s) {
		s += fmt.Sprintf(" (%s bytes)", Comma(len(line)))
	}
	return s
}

// longLine shows both ends of a text that is one line.
func (s *sheet) longLine(data []byte) {
	if s.left < 20 || len(data) == 0 {
		return
	}
	// The parts are counted again after what is invalid was replaced, which
	// can be longer than it was.
	part := (s.left - 20) / 2
	data = bytes.TrimRight(data, "\r\n")
	h := tokens.Prefix(data, part)
	n := min(tokens.Suffix(data, part), len(data)-h)
	head, tail := printable(data[:h]), printable(data[len(data)-n:])
	s.item(0, fmt.Sprintf("1: %s … %s bytes left out, up to byte %s … %s", head, Comma(len(data)-h-n), Comma(len(data)-n), tail), 0)
}
