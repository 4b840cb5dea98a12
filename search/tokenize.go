package search

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

const (
	// maxTokenBytes cuts words that nobody types, such as base64.
	maxTokenBytes = 64
	// maxCompoundBytes cuts text without any word break, so that no input
	// makes a compound, and what is derived from it, large.
	maxCompoundBytes = 1024
)

// tokenize returns the tokens of text, those that an [Index] counts: the
// [token] of each of its words.
func tokenize(text []byte) []string {
	var tokens []string
	for c := (compound{}); c.next(text, c.End); {
		for w := range c.words(text) {
			tokens = append(tokens, token(text[w.Start:w.End]))
		}
	}
	return tokens
}

// A compound is a run of words with nothing but "_", ".", "/" or "-" between them,
// or a run of a script without blanks.
type compound struct {
	Span
	parts    []Span // what is between two word breaks
	unspaced bool
}

// next makes c the first compound of text at or after pos and reports whether there
// is one.
func (c *compound) next(text []byte, pos int) bool {
	for pos < len(text) {
		r, size := utf8.DecodeRune(text[pos:])
		if isWord(r) || r == '_' {
			break
		}
		pos += size
	}
	first, _ := utf8.DecodeRune(text[pos:])
	script := classOf(first) & unspaced
	before := class(0)
	c.Span, c.parts, c.unspaced = Span{pos, pos}, c.parts[:0], script != 0
	for c.End < len(text) && c.Len() < maxCompoundBytes {
		r, size := utf8.DecodeRune(text[c.End:])
		end := c.End + size
		kind := classOf(r)
		switch {
		case kind == 0:
			if c.unspaced || !joins(r, text[end:]) {
				return c.Len() > 0
			}
		case kind&unspaced != script:
			return true
		case wordBreak(before, kind, text[end:]):
			c.parts = append(c.parts, Span{c.End, end})
		default:
			c.parts[len(c.parts)-1].End = end
		}
		before, c.End = kind, end
	}
	return c.Len() > 0
}

// words returns where the words of c are. A compound such as getUserName, a path or a
// date comes in parts and then whole, so that it answers to either. Han, kana,
// Hangul, Thai and other scripts without blanks come as single characters and pairs.
func (c *compound) words(text []byte) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		if c.unspaced {
			for pos, before := c.Start, -1; pos < c.End; {
				_, size := utf8.DecodeRune(text[pos:])
				if before >= 0 && !yield(Span{before, pos + size}) || !yield(Span{pos, pos + size}) {
					return
				}
				pos, before = pos+size, pos
			}
			return
		}
		for _, part := range c.parts {
			if !yield(part) {
				return
			}
		}
		if len(c.parts) > 1 && c.Len() <= maxTokenBytes {
			yield(c.Span)
		}
	}
}

// joins reports whether r joins the words on its two sides, as the dot of a.go
// does and a full stop does not. Text is what follows r.
func joins(r rune, text []byte) bool {
	switch r {
	case '_':
		return true
	case '.', '/', '-':
		after, _ := utf8.DecodeRune(text)
		kind := classOf(after)
		return kind != 0 && kind&unspaced == 0
	}
	return false
}

// token returns what an [Index] counts word as: its stem, in lower case and of no
// more than its first 64 bytes.
func token(word []byte) string {
	if len(word) > maxTokenBytes {
		n := maxTokenBytes
		for n > 0 && !utf8.RuneStart(word[n]) {
			n--
		}
		word = word[:n]
	}
	return stem(strings.ToLower(string(word)))
}

// stem removes the endings of an English word in lower case, as Snowball's
// English stemmer does (Porter's second): general, generate and generic are three
// words, correctly is correct. Words with anything but the letters a to z, or
// under three of them, stay as they are.
//
// Snowball keeps the s of a word without a vowel. Longer ones than dns are
// plurals, such as vpcs, and lose it.
func stem(word string) string {
	if len(word) < 3 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	if len(word) > 3 && !strings.ContainsAny(word, "aeiouy") && !strings.HasSuffix(word, "ss") {
		return strings.TrimSuffix(word, "s")
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}

// stopWords are the English words that say nothing about a passage, as
// Lucene lists them, and those that questions begin with.
var stopWords = func() map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(`a an and are as at be but by for if in into is it no not of on or
		such that the their then there these they this to was will with
		what which who whom when where why how does do did has have had can could
		should would i you he she we my your its our from about me were been am so than`) {
		set[stem(w)] = true
	}
	return set
}()
