package search

import (
	"unicode"
	"unicode/utf8"
)

// isWord reports whether r is part of a word.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		l := lowerASCII(byte(r))
		return 'a' <= l && l <= 'z' || '0' <= l && l <= '9'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// unspaced holds the scripts that put no blanks between words, and Hangul,
// whose words carry their particles.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

func isUnspaced(r rune) bool { return r >= 0x0e00 && unicode.In(r, unspaced...) }

// wordStart reports whether a word begins at pos, before len(text).
func wordStart(text []byte, pos int) bool {
	after, _ := utf8.DecodeRune(text[pos:])
	return isWord(after) && wordBreak(text, pos)
}

// wordEnd reports whether a word ends at pos, after 0.
func wordEnd(text []byte, pos int) bool {
	before, _ := utf8.DecodeLastRune(text[:pos])
	return isWord(before) && wordBreak(text, pos)
}

// wordBreak reports whether the runes around pos belong to different words,
// or one of them to none. Words are as in [Fuzzy].
func wordBreak(text []byte, pos int) bool {
	if pos == 0 || pos == len(text) {
		return true
	}
	before, _ := utf8.DecodeLastRune(text[:pos])
	after, size := utf8.DecodeRune(text[pos:])
	switch {
	case !isWord(before) || !isWord(after):
		return true
	case unicode.IsMark(after):
		return false
	case isUnspaced(before) || isUnspaced(after):
		return true
	case unicode.IsNumber(before) != unicode.IsNumber(after):
		return true
	case !unicode.IsUpper(after):
		return false
	case !unicode.IsUpper(before):
		return true
	}
	// HTTPServer: the last of several capitals begins a word.
	next, _ := utf8.DecodeRune(text[pos+size:])
	return unicode.IsLower(next)
}
