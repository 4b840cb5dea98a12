package search

import (
	"bytes"
	"sort"
)

// headingLevel returns the level of a Markdown heading that begins with
// "#", or 0.
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

// sections are the headings of a text, in order.
type sections struct {
	text     []byte
	headings []heading
}

type heading struct{ start, end, level int } // end: of its section

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
		level := 0
		switch {
		case fence != nil:
			if mark != nil && bytes.HasPrefix(trimmed, fence) && isRun(trimmed, fence[0]) {
				fence = nil
			}
			trimmed = nil
		case mark != nil:
			fence = mark
			trimmed = nil
		case above.Len() > 0 && isUnderline(trimmed):
			level = 1
			if trimmed[0] == '-' {
				level = 2
			}
			s.add(above.Start, level)
			trimmed = nil
		default:
			if level = headingLevel(line); level > 0 {
				s.add(pos, level)
				trimmed = nil
			}
		}
		above = Span{pos, pos + len(trimmed)}
		pos = end + 1
	}
	if len(s.headings) == 0 {
		return nil
	}
	s.nest()
	return s
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

func isRun(line []byte, b byte) bool {
	for _, c := range line {
		if c != b {
			return false
		}
	}
	return true
}

func (s *sections) add(start, level int) {
	s.headings = append(s.headings, heading{start: start, level: level})
}

// nest sets where each section ends: at the next heading of its level or a
// higher one.
func (s *sections) nest() {
	var open []int // headings whose sections go on, levels ascending
	for i, h := range s.headings {
		for len(open) > 0 && s.headings[open[len(open)-1]].level >= h.level {
			s.headings[open[len(open)-1]].end = h.start
			open = open[:len(open)-1]
		}
		open = append(open, i)
	}
	for _, i := range open {
		s.headings[i].end = len(s.text)
	}
}

// around returns the sections that hit touches. What precedes the first
// heading is a section too.
func (s *sections) around(hit Span, _ int) Span {
	first := s.last(hit.Start)
	last := s.last(max(hit.Start, hit.End-1))
	sp := Span{0, s.headings[0].start}
	if first >= 0 {
		sp = Span{s.headings[first].start, s.headings[first].end}
	}
	if last >= 0 {
		sp.End = max(sp.End, s.headings[last].end)
	}
	return sp
}

// last returns the last heading at or before pos, or -1.
func (s *sections) last(pos int) int {
	return sort.Search(len(s.headings), func(i int) bool { return s.headings[i].start > pos }) - 1
}
