package search

import (
	"bytes"
	"unicode/utf8"
)

// Passages are about as long as a paragraph or two: an agent is shown some
// of them whole. BM25 does not care much: it allows for length.
const (
	maxPassageBytes = 1200
	// minPassageBytes is what a paragraph or definition must have to stand
	// alone; shorter ones are grouped.
	minPassageBytes = 240
	// minSectionBytes is the same for what precedes a heading. It bounds the
	// passages of a text that is all headings.
	minSectionBytes = 64
)

// Passages divides text for an [Index]: at headings, blank lines and the
// beginnings of definitions where there are any, else at lines. Short
// paragraphs are grouped, up to the next heading; long ones are split, at
// lines without indentation if possible, and long lines at words.
//
// The passages tile the text: they are in order and leave nothing out. None
// is empty or over 1200 bytes. An empty text has none.
func Passages(text []byte) []Span {
	d := divider{text: text, spans: make([]Span, 0, len(text)/600+1), base: -1}
	for pos := 0; pos < len(text); {
		end := min(lineEnd(text, pos)+1, len(text))
		d.line(pos, end)
		pos = end
	}
	d.cut(len(text))
	return d.spans
}

// A divider groups lines into passages.
type divider struct {
	text  []byte
	spans []Span

	start int  // of the passage that is growing
	base  int  // its least indentation, or -1 while it is blank
	blank bool // the last line was blank
	lead  bool // the last line was a comment or decorator, which leads to the next
	body  bool // lines indented deeper than base followed the last word at it

	// Where a passage that gets too long is split: at the last line indented
	// like base, or at the last that begins something inside of it.
	margin, inner int
	innerIndent   int // least indentation deeper than base, or 0
}

// line adds the line text[pos:end] to the passage, or begins another.
func (d *divider) line(pos, end int) {
	line := d.text[pos:end]
	indent := indentation(line)
	blank := isBlank(line[indent:])
	lead := !blank && isLead(line[indent:])
	// A closing bracket begins nothing, nor does what a comment leads to.
	begins := !blank && !d.lead && (lead || isWord(rune(line[indent])) || line[indent] == '_')
	size := pos - d.start
	switch {
	case blank:
	case headingLevel(line) > 0 && !lead:
		if size >= minSectionBytes {
			d.cut(pos)
		}
	case size < minPassageBytes:
	case d.blank && indent <= d.base, d.blank && !d.body, d.body && begins && indent <= d.base:
		// After an indented body, a word at the margin begins another
		// definition.
		d.cut(pos)
	}
	switch {
	case blank:
		d.margin = pos
	case d.base < 0 || indent <= d.base:
		if d.base < 0 || indent < d.base {
			d.innerIndent = 0
		}
		d.base, d.margin = indent, pos
	case begins && (d.innerIndent == 0 || indent <= d.innerIndent):
		d.innerIndent, d.inner = indent, pos
	}
	if end-d.start > maxPassageBytes {
		d.split(pos, end)
	}
	d.blank, d.lead = blank, lead
	d.body = !blank && indent > d.base || d.body && !begins
}

// split makes room for the line text[pos:end], with which the passage
// would be too long.
func (d *divider) split(pos, end int) {
	for _, at := range []int{d.margin, d.inner} {
		if at > d.start+maxPassageBytes/2 && end-at <= maxPassageBytes {
			d.cut(at)
			d.base = indentation(d.text[at:end])
			return
		}
	}
	d.cut(pos)
	d.base = indentation(d.text[pos:end])
	for end-d.start > maxPassageBytes {
		d.cut(d.start + wordSplit(d.text[d.start:d.start+maxPassageBytes+1]))
	}
}

// indentation is how many blanks line begins with.
func indentation(line []byte) int {
	n := 0
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return n
}

// isLead reports whether a line, without its indentation, is a comment or a
// decorator, which belong to what follows them.
func isLead(line []byte) bool {
	for _, s := range []string{"//", "/*", "*", "@", "#[", "--", "<!--"} {
		if bytes.HasPrefix(line, []byte(s)) {
			return true
		}
	}
	return false
}

// cut ends the passage at pos and begins another there.
func (d *divider) cut(pos int) {
	if pos > d.start {
		d.spans = append(d.spans, Span{d.start, pos})
		d.start, d.base, d.innerIndent, d.body = pos, -1, 0, false
	}
}

// wordSplit returns where to divide a line, of which part is more than fits:
// after the last blank, else after the last of ",;}]>", else between runes.
// Only the second half is considered, so that pieces are not too short.
func wordSplit(part []byte) int {
	most := len(part) - 1
	for _, after := range []string{" \t", ",;}]>"} {
		if i := bytes.LastIndexAny(part[most/2:most], after); i >= 0 {
			return most/2 + i + 1
		}
	}
	for n := most; n > most-utf8.UTFMax; n-- {
		if utf8.RuneStart(part[n]) {
			return n
		}
	}
	return most
}
