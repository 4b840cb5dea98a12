package search

import (
	"bytes"
	"context"
	"io"
	"unicode/utf8"
)

const (
	// maxLineWork bounds line² × program, the worst case of finding all
	// matches in a line by one call: 2^27 steps, half a second for a hostile
	// pattern and 2.5 KB for an ordinary one. More is done in parts.
	maxLineWork = 1 << 27

	defaultRegexLimit = 1000
)

// RegexOptions configures [Regex]. The zero value is ready to use.
type RegexOptions struct {
	// CaseInsensitive matches as if the pattern began with (?i).
	CaseInsensitive bool
	// Limit is how many hits are kept, the first ones. Zero means 1000.
	Limit int
}

// Matches is what [Regex] found.
type Matches struct {
	// Hits are the first matches, in document order.
	Hits []Hit
	// Total counts all matches, the ones not kept included.
	Total int
	// Lines counts the lines with at least one match.
	Lines int
}

// Regex finds all matches of an RE2 pattern in the lines of text.
//
// Each line is matched by itself, without its ending: ^ and $ are its ends
// and no match crosses a newline. Most lines are never matched at all: a
// string that every match must contain is looked for first.
//
// A bad pattern is a [*PatternError]. When ctx ends first, its error comes
// with the matches so far.
func Regex(ctx context.Context, text []byte, pattern string, opts RegexOptions) (Matches, error) {
	p, err := compilePattern(pattern, opts.CaseInsensitive)
	if err != nil {
		return Matches{}, err
	}
	limit := opts.Limit
	if limit <= 0 {
		limit = defaultRegexLimit
	}
	return p.find(ctx, text, limit)
}

// find is [Regex] for a pattern that is compiled.
func (p *pattern) find(ctx context.Context, text []byte, limit int) (Matches, error) {
	s := regexScan{ctx: ctx, text: text, pattern: p, limit: limit, lines: lineCounter{text: text}, lastLine: -1}
	if p.filter.fits(text) {
		s.find = newFinder(p.filter.needles)
	}
	err := s.run()
	return s.found, err
}

// A regexScan is one call of [Regex].
type regexScan struct {
	ctx     context.Context
	text    []byte
	pattern *pattern
	limit   int
	find    *finder // nil: every line must be matched

	lines    lineCounter
	lastLine int // end of the last line with a match, -1 before the first
	found    Matches
}

// run reads the text in chunks that end with a line.
func (s *regexScan) run() error {
	if s.find != nil && s.pattern.filter.exact {
		return s.literals()
	}
	for pos := 0; pos < len(s.text); {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		end := len(s.text)
		if end-pos > chunkBytes {
			end = min(lineEnd(s.text, pos+chunkBytes)+1, end)
		}
		var err error
		switch {
		case s.find == nil:
			err = s.everyLine(pos, end)
		default:
			err = s.likelyLines(pos, end)
		}
		if err != nil {
			return err
		}
		pos = end
	}
	return s.ctx.Err()
}

// literals reports the occurrences of a pattern that is a plain string. It reads
// gigabytes in a second, so it looks at the context between hits only.
func (s *regexScan) literals() error {
	s.find.reset(s.text)
	for pos, n := 0, 1; ; n++ {
		at, size := s.find.next(pos)
		if at < 0 {
			return s.ctx.Err()
		}
		s.add(Span{at, at + size})
		pos = at + size
		if n%4096 == 0 && s.ctx.Err() != nil {
			return s.ctx.Err()
		}
	}
}

// likelyLines matches the lines that hold a required string.
func (s *regexScan) likelyLines(pos, end int) error {
	s.find.reset(s.text[:end])
	for pos < end {
		at, _ := s.find.next(pos)
		if at < 0 {
			return nil
		}
		start := pos + bytes.LastIndexByte(s.text[pos:at], '\n') + 1
		stop := lineEnd(s.text, at)
		if err := s.line(start, stop); err != nil {
			return err
		}
		pos = stop + 1
	}
	return nil
}

func (s *regexScan) everyLine(pos, end int) error {
	for pos < end {
		stop := lineEnd(s.text, pos)
		if err := s.line(pos, stop); err != nil {
			return err
		}
		pos = stop + 1
	}
	return nil
}

// line matches the line text[start:stop].
func (s *regexScan) line(start, stop int) error {
	line := trimCR(s.text[start:stop])
	if len(line) > longLine || len(line) > 0 && len(line) > maxLineWork/s.pattern.size/len(line) {
		return s.long(start, line)
	}
	for _, m := range s.pattern.re.FindAllIndex(line, -1) {
		s.add(Span{start + m[0], start + m[1]})
	}
	return nil
}

func (s *regexScan) add(sp Span) {
	s.found.Total++
	if sp.Start > s.lastLine {
		s.found.Lines++
		s.lastLine = lineEnd(s.text, sp.Start)
	}
	if len(s.found.Hits) < s.limit {
		s.found.Hits = append(s.found.Hits, Hit{Span: sp, Line: s.lines.line(sp.Start)})
	}
}

// interruptible matches a line so long that one call of the regexp package
// could outlive the context: it reads through a reader that ends when the
// context does. Twice as slow per byte as matching the bytes.
func (s *regexScan) interruptible(start int, line []byte) error {
	// A search from the middle of a line needs the rune before it, for \b and ^;
	// so it matches that rune too, and reports the group.
	careful, err := s.pattern.second()
	if err != nil {
		return err
	}
	// The loop follows regexp's own for All: an empty match next to the
	// match before it does not count.
	prefix, _ := s.pattern.re.LiteralPrefix()
	for pos, lastEnd := 0, -1; pos <= len(line); {
		if i := bytes.Index(line[pos:], []byte(prefix)); i > 0 {
			pos += i
		} else if i < 0 {
			return nil
		}
		r := &lineReader{ctx: s.ctx, line: line}
		var m []int
		if pos == 0 {
			m = s.pattern.re.FindReaderIndex(r)
		} else {
			_, width := utf8.DecodeLastRune(line[:pos])
			r.pos = pos - width
			if m = careful.FindReaderSubmatchIndex(r); m != nil {
				m = []int{m[2] + pos - width, m[3] + pos - width}
			}
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if m == nil {
			return nil
		}
		if m[0] != m[1] || m[0] != lastEnd {
			s.add(Span{start + m[0], start + m[1]})
		}
		lastEnd = m[1]
		if m[1] > pos {
			pos = m[1]
		} else if pos < len(line) {
			_, width := utf8.DecodeRune(line[pos:])
			pos += width
		} else {
			return nil
		}
	}
	return nil
}

// A lineReader reads the runes of a line until its context ends.
type lineReader struct {
	ctx  context.Context
	line []byte
	pos  int
	read int
}

func (r *lineReader) ReadRune() (rune, int, error) {
	r.read++
	if r.pos == len(r.line) || r.read%4096 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	c, width := rune(r.line[r.pos]), 1
	if c >= utf8.RuneSelf {
		c, width = utf8.DecodeRune(r.line[r.pos:])
	}
	r.pos += width
	return c, width, nil
}
