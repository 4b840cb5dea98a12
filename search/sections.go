package search

import (
	"bytes"
	"sort"
)

// sections are the headings of a Markdown text, in order.
type sections struct {
	text     []byte
	headings []heading
}

type heading struct{ start, level int }

// newSections finds the headings of text: lines that begin with "#", and
// lines underlined with "=" or "-", outside of fenced code. It returns nil
// if there are none.
func newSections(text []byte) *sections {
	s := &sections{text: text}
	var fence []byte // that opened the code block which pos is in
	var above Span   // the line above, if it can be underlined
	for pos := 0; pos < len(text); {
		end := lineEnd(text, pos)
		line := bytes.TrimRight(text[pos:end], " \t\r")
		trimmed := bytes.TrimLeft(line, " ")
		mark := fenceMark(trimmed)
		paragraph := false
		switch {
		case fence != nil:
			if mark != nil && bytes.HasPrefix(trimmed, fence) && isRun(trimmed, fence[0]) {
				fence = nil
			}
		case mark != nil:
			fence = mark
		case above.Len() > 0 && isUnderline(trimmed):
			level := 1
			if trimmed[0] == '-' {
				level = 2
			}
			s.headings = append(s.headings, heading{above.Start, level})
		case headingLevel(line) > 0:
			s.headings = append(s.headings, heading{pos, headingLevel(line)})
		default:
			paragraph = true
		}
		above = Span{}
		if paragraph {
			above = Span{pos, pos + len(trimmed)}
		}
		pos = end + 1
	}
	if len(s.headings) == 0 {
		return nil
	}
	return s
}

// headingLevel returns the level of a heading that begins with "#", or 0.
func headingLevel(line []byte) int {
	for indent := 0; indent < 3 && len(line) > 0 && line[0] == ' '; indent++ {
		line = line[1:]
	}
	level := 0
	for level < len(line) && line[level] == '#' {
		level++
	}
	if level > 6 || level < len(line) && !isBlank(line[level:level+1]) {
		return 0
	}
	return level
}

// fenceMark returns the "```" or "~~~", or longer, that line begins with.
func fenceMark(line []byte) []byte {
	if len(line) == 0 || line[0] != '`' && line[0] != '~' {
		return nil
	}
	n := len(line) - len(bytes.TrimLeft(line, string(line[:1])))
	if n < 3 {
		return nil
	}
	return line[:n]
}

// isUnderline reports whether line makes a heading of the line above. One
// dash does not: that begins a list.
func isUnderline(line []byte) bool {
	return len(line) > 1 && (isRun(line, '=') || isRun(line, '-'))
}

// isRun reports whether line has nothing but b.
func isRun(line []byte, b byte) bool { return bytes.Count(line, []byte{b}) == len(line) }

// around returns the sections that hit touches. What precedes the first
// heading is a section too.
func (s *sections) around(hit Span, _ int) Span {
	first := s.section(hit.Start)
	last := s.section(max(hit.Start, hit.End-1))
	return Span{first.Start, max(first.End, last.End)}
}

// section returns the innermost section that pos is in, with its subsections: it ends
// at the next heading of its level or a higher one.
func (s *sections) section(pos int) Span {
	next := sort.Search(len(s.headings), func(i int) bool { return s.headings[i].start > pos })
	if next == 0 {
		return Span{0, s.headings[0].start}
	}
	of := s.headings[next-1]
	for ; next < len(s.headings); next++ {
		if s.headings[next].level <= of.level {
			return Span{of.start, s.headings[next].start}
		}
	}
	return Span{of.start, len(s.text)}
}
