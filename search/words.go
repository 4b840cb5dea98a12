package search

import (
	"unicode"
	"unicode/utf8"
)

// A class says what a rune is in a word. It is 0 for runes that belong to none,
// such as blanks and punctuation.
type class uint8

const (
	letter class = 1 << iota
	upper
	lower
	digit
	mark     // an accent: part of the letter before it
	unspaced // of a script that puts no blanks between words
)

// unspacedScripts are these scripts, and Hangul, whose words carry their particles.
var unspacedScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

func classOf(r rune) class {
	if r < utf8.RuneSelf {
		return asciiClasses[r]
	}
	return classify(r)
}

func classify(r rune) class {
	var c class
	switch {
	case r == utf8.RuneError:
		return 0
	case unicode.IsLetter(r):
		c = letter
	case unicode.IsNumber(r):
		c = digit
	case unicode.IsMark(r):
		c = mark
	default:
		return 0
	}
	if unicode.IsUpper(r) {
		c |= upper
	} else if unicode.IsLower(r) {
		c |= lower
	}
	if r >= 0x0e00 && unicode.In(r, unspacedScripts...) { // Thai begins there
		c |= unspaced
	}
	return c
}

var asciiClasses = func() (classes [utf8.RuneSelf]class) {
	for r := range classes {
		switch {
		case 'a' <= r && r <= 'z':
			classes[r] = letter | lower
		case 'A' <= r && r <= 'Z':
			classes[r] = letter | upper
		case '0' <= r && r <= '9':
			classes[r] = digit
		}
	}
	return classes
}()

func isWord(r rune) bool { return classOf(r) != 0 }

// wordBreak reports whether two neighbours, of the classes before and after,
// belong to different words. Text is what follows them.
//
//	user·name  get·User·Name  HTTP·Server  error·404  東·京
func wordBreak(before, after class, text []byte) bool {
	switch {
	case before == 0 || after == 0:
		return true
	case after&mark != 0:
		return false
	case (before|after)&unspaced != 0, (before^after)&digit != 0:
		return true
	case after&upper == 0:
		return false
	case before&upper == 0:
		return true
	}
	// Of several capitals, the last begins a word if a small letter follows.
	next, _ := utf8.DecodeRune(text)
	return classOf(next)&lower != 0
}

// wordStart reports whether a word begins at pos, before len(text).
func wordStart(text []byte, pos int) bool {
	before, _ := utf8.DecodeLastRune(text[:pos])
	after, size := utf8.DecodeRune(text[pos:])
	return isWord(after) && wordBreak(classOf(before), classOf(after), text[pos+size:])
}

// wordEnd reports whether a word ends at pos, after 0.
func wordEnd(text []byte, pos int) bool {
	before, _ := utf8.DecodeLastRune(text[:pos])
	after, size := utf8.DecodeRune(text[pos:])
	return isWord(before) && wordBreak(classOf(before), classOf(after), text[pos+size:])
}

func lowerASCII(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
