package search

import (
	"bytes"
	"regexp"
	"slices"
	"unicode/utf8"
)

const (
	// longLine is from where a line is matched in windows. Below, one call of
	// the regexp package costs less than finding them.
	longLine = 4 << 10

	// nearBytes is a gap over which two windows are matched as one, up to
	// windowBytes together: a call costs about as much as so many bytes.
	nearBytes   = 32
	windowBytes = 2 << 10

	// callWork bounds bytes × width × program of one call.
	callWork = 1 << 27
)

// long matches a long line window by window. A window is a part of the line, and
// no match lies outside of all windows.
//
// With one rune more on either side a window is matched by itself: no match takes
// these runes, so ^ and $ do not mistake the ends for the line's, and \b sees
// what it sees in the line.
func (s *regexScan) long(start int, line []byte) error {
	p := s.pattern
	if prefix, _ := p.re.LiteralPrefix(); !bytes.Contains(line, []byte(prefix)) {
		return nil
	}
	switch {
	case s.find != nil:
		return s.aroundNeedles(start, line)
	case p.least > 0:
		return s.runs(start, line)
	}
	return s.whole(start, line)
}

// aroundNeedles matches the windows around the required strings.
func (s *regexScan) aroundNeedles(start int, line []byte) error {
	p := s.pattern
	before := reach{chain: p.filter.before}
	after := reach{chain: p.filter.after}
	find := newFinder(p.filter.needles)
	find.reset(line)
	win := Span{-1, -1}
	for n := 1; ; n++ {
		if n%4096 == 0 && s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		at, size := find.pop()
		if at < 0 {
			break
		}
		from := before.back(line, at, max(win.End, 0))
		to := after.forward(line, at+size)
		switch {
		case win.Start < 0:
			win = Span{from, to}
		case from <= win.End+2*utf8.UTFMax || from <= win.End+nearBytes && to-win.Start <= windowBytes:
			win.End = max(win.End, to)
		default:
			if err := s.part(start, line, win, s.runs); err != nil {
				return err
			}
			win = Span{from, to}
		}
	}
	if win.Start < 0 {
		return nil
	}
	return s.part(start, line, win, s.runs)
}

// runs matches the runs of runes that the pattern can match at all.
func (s *regexScan) runs(start int, line []byte) error {
	set := s.pattern.whole.set
	read := 0
	win := Span{-1, -1}
	for pos := 0; ; {
		from := set.skip(line, pos, true)
		if from == len(line) {
			break
		}
		pos = set.skip(line, from, false)
		if pos-read > chunkBytes {
			read = pos
			if s.ctx.Err() != nil {
				return s.ctx.Err()
			}
		}
		switch {
		case pos-from < s.pattern.least:
		case win.Start < 0:
			win = Span{from, pos}
		case from <= win.End+nearBytes && pos-win.Start <= windowBytes:
			win.End = pos
		default:
			if err := s.part(start, line, win, s.whole); err != nil {
				return err
			}
			win = Span{from, pos}
		}
	}
	if win.Start < 0 {
		return nil
	}
	return s.part(start, line, win, s.whole)
}

// part matches a window of a line, by otherwise if it is too much for one call.
func (s *regexScan) part(start int, line []byte, win Span, otherwise func(int, []byte) error) error {
	// One rune more on either side.
	if win.Start > 0 {
		_, w := utf8.DecodeLastRune(line[:win.Start])
		win.Start -= w
	}
	if win.End < len(line) {
		_, w := utf8.DecodeRune(line[win.End:])
		win.End += w
	}
	start += win.Start
	line = line[win.Start:win.End]
	if len(line) > maxLineWork/s.pattern.size/max(len(line), 1) {
		return otherwise(start, line)
	}
	for _, m := range s.pattern.re.FindAllIndex(line, -1) {
		s.add(Span{start + m[0], start + m[1]})
	}
	return nil
}

// whole matches a line that no window makes shorter.
func (s *regexScan) whole(start int, line []byte) error {
	p := s.pattern
	if p.least > 0 && p.whole.width != unbounded && p.whole.width*p.size <= callWork/1024 {
		return s.pieces(start, line, min(callWork/max(p.whole.width*p.size, 1), 64<<10))
	}
	return s.interruptible(start, line)
}

// pieces matches a line in pieces of size bytes, for a pattern whose matches have
// a width and are never empty: those that begin in a piece end not far behind it.
func (s *regexScan) pieces(start int, line []byte, size int) error {
	p := s.pattern
	for pos := 0; pos < len(line); {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		from := pos
		if pos > 0 && p.around {
			_, w := utf8.DecodeLastRune(line[:pos])
			from -= w
		}
		_, end := aligned(line, min(pos+size, len(line)))
		// Beyond the last rune that a match can take there is one more.
		_, stop := aligned(line, min(end+p.whole.width+utf8.UTFMax, len(line)))
		ms := p.re.FindAllIndex(line[from:stop], -1)
		next := end
		if from < pos && len(ms) > 0 && ms[0][0] == 0 {
			// It begins with the rune that is only there to be looked at. The first
			// that does not is reported, and the next piece starts behind it.
			re, err := p.second()
			if err != nil {
				return err
			}
			ms = nil
			if m := re.FindSubmatchIndex(line[from:stop]); m != nil && from+m[2] < end {
				ms = [][]int{m[2:4]}
				next = from + m[3]
			}
		}
		for _, m := range ms {
			if from+m[0] >= end {
				break
			}
			s.add(Span{start + from + m[0], start + from + m[1]})
			next = max(next, from+m[1])
		}
		pos = next
	}
	return s.ctx.Err()
}

// aligned returns pos, or where the rune that pos lies in begins and ends.
func aligned(text []byte, pos int) (begin, end int) {
	if pos < len(text) && !utf8.RuneStart(text[pos]) {
		for i := pos - 1; i >= 0 && i > pos-utf8.UTFMax; i-- {
			if !utf8.RuneStart(text[i]) {
				continue
			}
			if _, w := utf8.DecodeRune(text[i:]); i+w > pos {
				return i, i + w
			}
			break
		}
	}
	return pos, pos
}

// second is the pattern behind the first rune of a text, as a group.
func (p *pattern) second() (*regexp.Regexp, error) {
	if p.careful == nil {
		re, err := regexp.Compile(`(?s:\A..*?)(` + p.tree.String() + `)`)
		if err != nil {
			return nil, err
		}
		p.careful = re
	}
	return p.careful, nil
}

// A reach finds how far from a required string a match can begin, or end.
type reach struct {
	chain []extent
	seen  []Span // of each part of chain, the last run
}

// back returns a position before which no match begins that has its required
// string at pos. When that is not above floor, it is floor.
func (r *reach) back(line []byte, pos, floor int) int {
	for i := len(r.chain) - 1; i >= 0 && pos > floor; i-- {
		e := r.chain[i]
		if e.width == unbounded {
			pos = e.set.back(line, pos, floor)
			continue
		}
		pos, _ = aligned(line, max(pos-e.width, floor))
	}
	return max(pos, floor)
}

// forward returns a position behind which no match ends whose required string
// ends at pos.
func (r *reach) forward(line []byte, pos int) int {
	if r.seen == nil {
		r.seen = slices.Repeat([]Span{{-1, -1}}, len(r.chain))
	}
	for i, e := range r.chain {
		if e.width != unbounded {
			_, pos = aligned(line, min(pos+e.width, len(line)))
			continue
		}
		if run := r.seen[i]; pos < run.Start || pos > run.End {
			r.seen[i] = Span{pos, e.set.skip(line, pos, false)}
		}
		pos = r.seen[i].End
	}
	return pos
}

// pop returns where the next needle is, in the order in which they begin, and
// how long it is, or -1. Needles may lie in one another.
func (f *finder) pop() (at, size int) {
	best := -1
	for i := range f.cursors {
		c := &f.cursors[i]
		if c.at < 0 {
			c.advance(f.text, 0)
		}
		if c.at < len(f.text) && (best < 0 || c.at < f.cursors[best].at) {
			best = i
		}
	}
	if best < 0 {
		return -1, 0
	}
	c := &f.cursors[best]
	at, size = c.at, len(c.lit)
	c.advance(f.text, at+1)
	return at, size
}
