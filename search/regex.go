package search

import "context"

const (
	// maxLineWork bounds line² × program, the worst case of finding all
	// matches in a line by one call: 2^27 steps, half a second for a hostile
	// pattern and 2.5 KB for an ordinary one. Longer lines go to longLine.
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
	s := regexScan{ctx: ctx, text: text, pattern: p, limit: limit, lines: lineCounter{text: text}, lastLine: -1}
	err = s.run()
	return s.found, err
}

// A regexScan is one call of [Regex].
type regexScan struct {
	ctx     context.Context
	text    []byte
	pattern *pattern
	limit   int
	find    *finder // of the literals that each match must hold; nil if there are none

	lines    lineCounter
	lastLine int // end of the last line with a match, -1 before the first
	found    Matches
}

// run reads the text in chunks that end with a line.
func (s *regexScan) run() error {
	if canFind(s.pattern.required, s.text) {
		s.find = &finder{literals: s.pattern.required}
	}
	for start := 0; start < len(s.text); {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		end := len(s.text)
		if end-start > chunkBytes {
			end = min(lineEnd(s.text, start+chunkBytes)+1, end)
		}
		if err := s.chunk(start, s.text[start:end]); err != nil {
			return err
		}
		start = end
	}
	return s.ctx.Err()
}

// chunk matches those lines of chunk that can have a match. It begins at base.
func (s *regexScan) chunk(base int, chunk []byte) error {
	if s.find != nil {
		s.find.reset(chunk)
	}
	for pos := 0; pos < len(chunk); {
		if s.find != nil {
			at := s.find.next(pos)
			if at == len(chunk) {
				return nil
			}
			pos = lineStart(chunk, at, pos)
		}
		end := lineEnd(chunk, pos)
		if err := s.line(base+pos, trimCR(chunk[pos:end])); err != nil {
			return err
		}
		pos = end + 1
	}
	return nil
}

// line matches a line, which begins at start.
func (s *regexScan) line(start int, line []byte) error {
	if n := len(line); n > 0 && n > maxLineWork/s.pattern.program/n {
		var literals []literal
		if s.find != nil {
			literals = s.find.literals
		}
		return s.pattern.longLine(s.ctx, line, literals, func(m Span) { s.add(Span{start + m.Start, start + m.End}) })
	}
	for _, m := range s.pattern.re.FindAllIndex(line, -1) {
		s.add(Span{start + m[0], start + m[1]})
	}
	return nil
}

func (s *regexScan) add(m Span) {
	s.found.Total++
	if m.Start > s.lastLine {
		s.found.Lines++
		s.lastLine = lineEnd(s.text, m.Start)
	}
	if len(s.found.Hits) < s.limit {
		s.found.Hits = append(s.found.Hits, Hit{Span: m, Line: s.lines.line(m.Start)})
	}
}
