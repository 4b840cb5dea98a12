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
	d := divider{text: text, spans: make([]Span, 0, len(text)/600+1)}
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

	start  int  // of the passage that is growing
	margin int  // last line without indentation, a place to split it
	blank  bool // the last line was blank
	body   bool // indented lines followed the last word at the margin
}

// line adds the line text[pos:end] to the passage, or begins another.
func (d *divider) line(pos, end int) {
	line := d.text[pos:end]
	blank := isBlank(line)
	indent := !blank && (line[0] == ' ' || line[0] == '\t')
	word := !blank && isWord(rune(line[0]))
	size := pos - d.start
	switch {
	case blank:
	case headingLevel(line) > 0:
		if size >= minSectionBytes {
			d.cut(pos)
		}
	case size < minPassageBytes:
	case d.blank, d.body && word:
		// After an indented body, a word at the margin begins another
		// definition; a closing brace does not.
		d.cut(pos)
	}
	if !indent {
		d.margin = pos
	}
	if end-d.start > maxPassageBytes {
		d.split(pos, end)
	}
	d.blank, d.body = blank, indent || d.body && !word
}

// split makes room for the line text[pos:end], with which the passage
// would be too long.
func (d *divider) split(pos, end int) {
	if d.margin > d.start+maxPassageBytes/2 && end-d.margin <= maxPassageBytes {
		d.cut(d.margin)
		return
	}
	d.cut(pos)
	for end-d.start > maxPassageBytes {
		d.cut(d.start + wordSplit(d.text[d.start:d.start+maxPassageBytes+1]))
	}
}

// cut ends the passage at pos and begins another there.
func (d *divider) cut(pos int) {
	if pos > d.start {
		d.spans = append(d.spans, Span{d.start, pos})
		d.start = pos
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

// isBlank reports whether line has nothing but blanks.
func isBlank(line []byte) bool {
	for _, b := range line {
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return false
		}
	}
	return true
}
