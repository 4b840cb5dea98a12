package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"rlmproxy/pipeline/tokens"
)

// text fills s with what stands out, the head and the tail.
func (s *sheet) text(v Value) {
	f := guessFormat(v.Data)
	s.first(fmt.Sprintf("%s, %s, %s bytes", f.name, plural(s.total, "lines"), Comma(len(v.Data))))
	if f.heading != nil {
		var b strings.Builder
		if headings(context.Background(), &b, v.Data, f.heading) == nil {
			for line := range strings.Lines(b.String()) {
				if !s.note(strings.TrimSuffix(line, "\n"), s.budget*3/4) {
					break
				}
			}
		}
	}
	if s.total <= 1 {
		s.longLine(v.Data)
		return
	}
	// More lines than this never fit: a line has a token or more.
	head, tail := ends(v.Data, s.left, s.left/2)
	reserve := s.left * 2 / 5
	for n, line := range head {
		if !s.item(n, numbered(n, line), reserve) {
			break
		}
	}
	for i := len(tail) - 1; i >= 0; i-- {
		n := s.total - len(tail) + i
		if !s.item(n, numbered(n, tail[i]), 0) {
			break
		}
	}
}

// numbered is line n, counted from 0, as an agent reads it: with its number as
// editors count, which also keeps a line from being taken for one of ours.
func numbered(n int, line []byte) string {
	return fmt.Sprintf("%d: %s", n+1, showLine(line))
}

// longLine shows both ends of a text that is one line.
func (s *sheet) longLine(data []byte) {
	if s.left < 20 || len(data) == 0 {
		return
	}
	// The parts are counted again after what is invalid was replaced, which
	// can be longer than it was.
	part := (s.left - 16) / 2
	data = bytes.TrimRight(data, "\r\n")
	head := printable(data[:tokens.Prefix(data, part)])
	n := tokens.Suffix(data, part)
	tail := printable(data[len(data)-n:])
	s.item(0, fmt.Sprintf("1: %s … %s bytes left out … %s", head, Comma(len(data)-len(head)-n), tail), 0)
}
