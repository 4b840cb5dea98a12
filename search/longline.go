package search

import (
	"context"
	"io"
	"regexp"
	"unicode/utf8"
)

// longLine calls found for each match of p in line, which is so long that one call of
// the regexp package could outlive ctx: it finds one match after another through a
// [lineReader]. Matches are those of [regexp.Regexp.FindAllIndex].
//
// Every match holds one of literals, if there are any. So what is too far before the
// next of them to begin a match is not read, nor what is after the last.
func (p *pattern) longLine(ctx context.Context, line []byte, literals []literal, found func(Span)) error {
	f := &finder{literals: literals}
	f.reset(line)
	before := 0
	for _, l := range literals {
		before = max(before, l.before)
	}
	lastEnd := -1
	for pos := 0; pos <= len(line); {
		if literals != nil {
			at := f.next(pos)
			if at == len(line) {
				break
			}
			if before < far && at-before > pos {
				for at -= before; at > pos && !utf8.RuneStart(line[at]); {
					at--
				}
				pos = at
			}
		}
		m, err := p.findFrom(ctx, line, pos)
		if err != nil {
			return err
		}
		if m.Start < 0 {
			break
		}
		// As in FindAllIndex, an empty match next to the one before does not count.
		if m.Len() > 0 || m.Start != lastEnd {
			found(m)
		}
		pos, lastEnd = m.End, m.End
		if m.Len() == 0 {
			_, size := utf8.DecodeRune(line[pos:])
			pos += max(size, 1)
		}
	}
	return ctx.Err()
}

// findFrom returns the first match that begins at or after pos; without one its
// Start is -1.
func (p *pattern) findFrom(ctx context.Context, line []byte, pos int) (Span, error) {
	r := &lineReader{ctx: ctx, line: line}
	var m []int
	if pos == 0 {
		m = p.re.FindReaderIndex(r)
	} else {
		behind, err := p.behindRune()
		if err != nil {
			return Span{}, err
		}
		_, size := utf8.DecodeLastRune(line[:pos])
		r.pos = pos - size
		if m = behind.FindReaderSubmatchIndex(r); m != nil {
			m = []int{m[2] + pos - size, m[3] + pos - size}
		}
	}
	if err := ctx.Err(); err != nil || m == nil {
		return Span{-1, -1}, err
	}
	return Span{m[0], m[1]}, nil
}

// behindRune returns p as the first group of a pattern that begins with any rune. A
// search from the middle of a line matches the rune before it too, so that \b and ^
// see it.
func (p *pattern) behindRune() (*regexp.Regexp, error) {
	var err error
	if p.behind == nil {
		p.behind, err = regexp.Compile(`(?s:\A..*?)(` + p.tree.String() + `)`)
	}
	return p.behind, err
}

// A lineReader reads the runes of a line from pos until its context ends.
type lineReader struct {
	ctx  context.Context
	line []byte
	pos  int
	read int // runes
}

func (r *lineReader) ReadRune() (rune, int, error) {
	r.read++
	if r.pos == len(r.line) || r.read%4096 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRune(r.line[r.pos:])
	r.pos += size
	return c, size, nil
}
