package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxTokenBytes cuts words that nobody types, such as base64.
	maxTokenBytes = 64
	// maxChunkBytes cuts text without any word break, so that no input
	// makes a chunk, and what is derived from it, large.
	maxChunkBytes = 1024
)

// Tokenize returns the words of text as [Index] counts them: in lower case,
// English words without their endings. Identifiers, paths, dates and the
// like come whole and in pieces, so that getUserName answers to itself and
// to "user". Han, kana, Hangul, Thai and other scripts without blanks come
// as single characters and pairs.
//
// It returns nil for a text without letters and digits.
func Tokenize(text string) []string {
	var tokens []string
	b := []byte(text)
	for pos := 0; ; {
		start, end := nextChunk(b, pos)
		if start == end {
			return tokens
		}
		tokens = appendTokens(tokens, b[start:end])
		pos = end
	}
}

// nextChunk returns the first chunk of text at or after pos: a run of
// unspaced script, or of other words and what joins them. It returns an
// empty range at the end of text.
func nextChunk(text []byte, pos int) (start, end int) {
	for pos < len(text) {
		if c := classes[text[pos]]; c == classNone {
			pos++
			continue
		} else if c == classWord {
			break
		}
		r, size := decode(text, pos)
		if isWord(r) || r == '_' {
			break
		}
		pos += size
	}
	start, end = pos, pos
	// Most chunks are ASCII from begin to end.
ascii:
	for most := min(len(text), start+maxChunkBytes); end < most; end++ {
		switch b := text[end]; {
		case classes[b] == classWord:
		case classes[b] == classNone:
			return start, end
		case b >= utf8.RuneSelf || end+1 < len(text) && text[end+1] >= utf8.RuneSelf:
			break ascii
		case end+1 == len(text) || !isWord(rune(text[end+1])):
			return start, end // a stop
		}
	}
	if end == len(text) {
		return start, end
	}
	var unspaced bool
	for end < len(text) && end-start < maxChunkBytes {
		r, size := decode(text, end)
		switch {
		case r < utf8.RuneSelf && isJoint(byte(r)):
			// A joint stands between two words: the dot of a.go, not of a stop.
			if unspaced || end+1 >= len(text) {
				return start, end
			}
			if after, _ := decode(text, end+1); !isWord(after) || isUnspaced(after) {
				return start, end
			}
		case r == '_' && !unspaced:
		case !isWord(r):
			return start, end
		case end == start:
			unspaced = isUnspaced(r)
		case unspaced != isUnspaced(r):
			return start, end
		}
		end += size
	}
	return start, end
}

// classes says what a byte of UTF-8 is on its own. Only letters, digits and the
// underscore go on with a chunk whatever follows.
var classes = func() (c [256]uint8) {
	for b := range 256 {
		switch {
		case b >= utf8.RuneSelf || isJoint(byte(b)):
			c[b] = classUnsure
		case isWord(rune(b)) || b == '_':
			c[b] = classWord
		}
	}
	return c
}()

const (
	classNone = iota
	classWord
	classUnsure
)

func isJoint(b byte) bool { return b == '.' || b == '/' || b == '-' }

func decode(text []byte, pos int) (rune, int) {
	if b := text[pos]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	return utf8.DecodeRune(text[pos:])
}

// appendTokens appends the tokens of one chunk.
func appendTokens(tokens []string, chunk []byte) []string {
	r, _ := decode(chunk, 0)
	if isUnspaced(r) {
		return appendPairs(tokens, string(chunk))
	}
	first := len(tokens)
	for pos := 0; ; {
		start, end := nextPiece(chunk, pos)
		if start == end {
			break
		}
		tokens = append(tokens, token(chunk[start:end]))
		pos = end
	}
	if len(tokens)-first > 1 && len(chunk) <= maxTokenBytes {
		tokens = append(tokens, token(chunk))
	}
	return tokens
}

// appendPairs appends each character of s and each two neighbours.
func appendPairs(tokens []string, s string) []string {
	before := -1
	for i, r := range s {
		size := utf8.RuneLen(r)
		if before >= 0 {
			tokens = append(tokens, s[before:i+size])
		}
		tokens = append(tokens, s[i:i+size])
		before = i
	}
	return tokens
}

// token returns the stem of word.
func token(word []byte) string {
	return string(appendToken(make([]byte, 0, maxTokenBytes), word))
}

// appendToken appends the stem of word, in lower case and of no more than its
// first 64 bytes.
func appendToken(to, word []byte) []byte {
	if len(word) > maxTokenBytes {
		n := maxTokenBytes
		for n > 0 && !utf8.RuneStart(word[n]) {
			n--
		}
		word = word[:n]
	}
	start := len(to)
	for _, b := range word {
		if b >= utf8.RuneSelf {
			to = to[:start]
			for _, r := range string(word) {
				to = utf8.AppendRune(to, unicode.ToLower(r))
			}
			break
		}
		to = append(to, lowerASCII(b))
	}
	return to[:start+len(stem(to[start:]))]
}

// stopWords are the English words that say nothing about a passage, as
// Lucene lists them, and those that questions begin with.
var stopWords = func() map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(`a an and are as at be but by for if in into is it no not of on or
		such that the their then there these they this to was will with
		what which who whom when where why how does do did has have had can could
		should would i you he she we my your its our from about me were been am so than`) {
		set[token([]byte(w))] = true
	}
	return set
}()
