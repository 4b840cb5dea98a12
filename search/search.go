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
//
// A word is a run of letters or digits up to a blank, punctuation or the next hump
// of camelCase, or a character of a script without blanks (words.go). Index and
// Highlight see words as tokens, their stems in lower case (tokenize.go).
package search

import (
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
	// ErrLongQuery reports a query of more than 256 characters.
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

// A Hit is one place that [Regex] or [Fuzzy] found.
type Hit struct {
	Span
	// Line is the number of the line that holds Start, from 1.
	Line int
	// Score is the similarity, from 0 to 1. Regex leaves it 0.
	Score float64
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
