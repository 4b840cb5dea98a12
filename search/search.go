// Package search finds the parts of a large text that answer a question.
//
//	text ─┬─ Regex   exact patterns, line by line
//	      ├─ Index   passages ranked by BM25
//	      ├─ Fuzzy   misspelt words and phrases
//	      └─ Expand  the paragraph, section, sentence or lines around a hit
//
// Text goes in as bytes of any kind: invalid UTF-8, NULs, CRLF and lines of
// many megabytes are all legal. What comes out are spans of byte offsets,
// ranked, never copies of the text. Lines end with "\n"; a "\r" before it
// belongs to the line ending. A final newline does not begin another line.
//
// Each search keeps a bounded number of hits, counts the rest, and returns
// when its context ends. Nothing here knows about tools, agents or JSON.
package search

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// chunkBytes is how much text is read between two looks at the context.
// At the slowest scan here, 5 MB/s, that is a look every 50 ms.
const chunkBytes = 256 << 10

// Errors that the caller can repair by sending another query.
var (
	// ErrNoQuery reports a query without a single letter or digit.
	ErrNoQuery = errors.New("query has no words")
	// ErrLongQuery reports a query over [MaxFuzzyRunes].
	ErrLongQuery = errors.New("query is too long")
	// ErrThreshold reports a similarity outside 0 to 1.
	ErrThreshold = errors.New("threshold is not between 0 and 1")
)

// A Span is the half-open range of bytes [Start, End) of a text.
type Span struct{ Start, End int }

// Len returns the number of bytes in s.
func (s Span) Len() int { return s.End - s.Start }

// clamp returns s cut to a text of n bytes, with Start <= End.
func (s Span) clamp(n int) Span {
	s.Start = min(max(s.Start, 0), n)
	s.End = min(max(s.End, s.Start), n)
	return s
}

// A Hit is one place that a search found.
type Hit struct {
	Span
	// Line is the number of the line that holds Start, from 1.
	Line int
	// Score is a BM25 score, or a similarity from 0 to 1. Regex leaves it 0.
	Score float64
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

// trimCR returns line without the "\r" of a "\r\n" ending.
func trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// lineEnd returns the position of the newline that ends the line holding
// pos, or len(text).
func lineEnd(text []byte, pos int) int {
	if i := bytes.IndexByte(text[pos:], '\n'); i >= 0 {
		return pos + i
	}
	return len(text)
}

// preview returns at most n bytes of s, cut between runes and marked.
func preview(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
