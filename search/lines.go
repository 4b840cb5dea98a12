package search

import (
	"bytes"
	"sort"
	"unsafe"
)

// lineStride is how many lines share one stored offset. At 32 a table of
// the worst text, newlines only, is a quarter of the text's own size, and a
// lookup in a log reads about 3 KB.
const lineStride = 32

// A LineTable turns byte offsets into line numbers and back. It refers to
// the text, which must not change, and is safe for concurrent use.
type LineTable struct {
	text   []byte
	starts []int // where lines 1, 1+lineStride, 1+2*lineStride, … begin
	lines  int
}

// NewLineTable reads text once.
func NewLineTable(text []byte) *LineTable {
	t := &LineTable{text: text}
	for pos := 0; pos < len(text); {
		if t.lines%lineStride == 0 {
			t.starts = append(t.starts, pos)
		}
		t.lines++
		pos = lineEnd(text, pos) + 1
	}
	return t
}

// Len returns the number of lines: 0 for an empty text.
func (t *LineTable) Len() int { return t.lines }

// Line returns the number, from 1, of the line holding offset. The newline
// belongs to the line it ends. Offsets outside the text get the first or
// the last line; in an empty text that is 1.
func (t *LineTable) Line(offset int) int {
	if t.lines == 0 || offset <= 0 {
		return 1
	}
	offset = min(offset, len(t.text)-1)
	i := sort.SearchInts(t.starts, offset+1) - 1
	return i*lineStride + bytes.Count(t.text[t.starts[i]:offset], newline) + 1
}

// Span returns where line is, without its "\n" or "\r\n". Lines before the
// first are empty spans at the start of the text, those after the last
// empty spans at its end.
func (t *LineTable) Span(line int) Span {
	if line < 1 {
		return Span{}
	}
	if line > t.lines {
		return Span{len(t.text), len(t.text)}
	}
	pos := t.starts[(line-1)/lineStride]
	for range (line - 1) % lineStride {
		pos = lineEnd(t.text, pos) + 1
	}
	return Span{pos, pos + len(trimCR(t.text[pos:lineEnd(t.text, pos)]))}
}

// SizeBytes returns the memory that the table holds, without the text.
func (t *LineTable) SizeBytes() int64 {
	return int64(unsafe.Sizeof(*t)) + int64(cap(t.starts))*int64(unsafe.Sizeof(int(0)))
}

// A lineCounter numbers positions that it is asked for one after another.
// It reads only the text between two of them, so that numbering hits in
// document order costs one pass, and in any order stays correct.
type lineCounter struct {
	text  []byte
	at    int // position last asked for
	above int // newlines before at
}

// line returns the number of the line holding pos, from 1.
func (c *lineCounter) line(pos int) int {
	if pos >= c.at {
		c.above += bytes.Count(c.text[c.at:pos], newline)
	} else {
		c.above -= bytes.Count(c.text[pos:c.at], newline)
	}
	c.at = pos
	return c.above + 1
}

var newline = []byte{'\n'}

// lineStart returns where the line holding pos begins, or floor.
func lineStart(text []byte, pos, floor int) int {
	if pos <= floor {
		return pos
	}
	return floor + bytes.LastIndexByte(text[floor:pos], '\n') + 1
}

// lineEnd returns the position of the newline that ends the line holding
// pos, or len(text).
func lineEnd(text []byte, pos int) int {
	if i := bytes.IndexByte(text[pos:], '\n'); i >= 0 {
		return pos + i
	}
	return len(text)
}

// trimCR returns line without the "\r" of a "\r\n" ending.
func trimCR(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }

// isBlank reports whether line has nothing but blanks.
func isBlank(line []byte) bool {
	for _, b := range line {
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return false
		}
	}
	return true
}
