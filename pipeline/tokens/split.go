package tokens

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// Text is split into pieces before tokens are looked for, and no token goes across
// two of them. The expression is that of tiktoken's openai_public.py, of which the
// first alternative that matches counts:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// None of them looks back, so that what is left of a piece is split as if nothing
// had been before it.

// A class is a set of characters that the expression does not tell apart.
type class uint8

const (
	other   class = iota // punctuation, symbols, controls
	mark                 // M: in words as caseless letters, else as other
	upper                // Lu and Lt
	lower                // Ll
	letter               // Lm and Lo, which have no case
	number               // N
	space                // \s, but not the next
	newline              // \r and \n
)

// In the expression's brackets:
func (c class) head() bool   { return c == upper || c == letter || c == mark }
func (c class) tail() bool   { return c == lower || c == letter || c == mark }
func (c class) symbol() bool { return c == other || c == mark }
func (c class) blank() bool  { return c == space || c == newline }

var ascii = func() (t [utf8.RuneSelf]class) {
	for c := range t {
		t[c] = classify(rune(c))
	}
	return t
}()

func classify(r rune) class {
	switch {
	case r == '\r', r == '\n':
		return newline
	case unicode.Is(unicode.White_Space, r):
		return space
	case unicode.Is(unicode.Ll, r):
		return lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper
	case unicode.IsLetter(r):
		return letter
	case unicode.IsMark(r):
		return mark
	case unicode.IsNumber(r):
		return number
	}
	return other
}

// plane has the classes of all characters of the basic plane, 64 KB.
var plane = sync.OnceValue(func() *[1 << 16]class {
	t := new([1 << 16]class)
	for r := range rune(len(t)) {
		t[r] = classify(r)
	}
	return t
})

// at returns the class of the character at b[i] and where the next one begins. There
// must be one.
func at(b []byte, i int) (c class, next int) {
	if b[i] < utf8.RuneSelf {
		return ascii[b[i]], i + 1
	}
	r, n := utf8.DecodeRune(b[i:])
	if r < 1<<16 {
		return plane()[r], i + n
	}
	return classify(r), i + n
}

// piece returns the length of the first piece of b, which must not be empty. Bytes
// that are no UTF-8 are symbols.
func piece(b []byte) int {
	first, next := at(b, 0)
	if next < len(b) && (first == other || first == space) {
		if end := word(b, next); end > 0 {
			return end
		}
	}
	switch {
	case first == number:
		for range 2 {
			if next == len(b) {
				break
			}
			c, after := at(b, next)
			if c != number {
				break
			}
			next = after
		}
		return next
	case first.blank():
		if b[0] == ' ' && next < len(b) {
			if c, _ := at(b, next); c.symbol() {
				return symbols(b, next)
			}
		}
		return blanks(b)
	case first == other:
		return symbols(b, 0)
	}
	return word(b, 0)
}

// word returns the end of the word that begins at b[i], or 0 if none does.
func word(b []byte, i int) (end int) {
	caseless := 0 // behind the last one in the head
	start := i
	for i < len(b) {
		c, next := at(b, i)
		if !c.head() {
			break
		}
		if i = next; c != upper {
			caseless = next
		}
	}
	head := i
	for i < len(b) {
		c, next := at(b, i)
		if !c.tail() {
			break
		}
		i = next
	}
	switch {
	case i > head: // a tail of its own
	case caseless > 0: // the head gives the tail its last
		i = caseless
	case head == start:
		return 0
	}
	return contraction(b, i)
}

// contraction returns the end of the contraction at b[i], or i if there is none.
func contraction(b []byte, i int) int {
	if i+1 >= len(b) || b[i] != '\'' {
		return i
	}
	switch b[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	}
	if i+2 >= len(b) {
		return i
	}
	switch string(b[i+1 : i+3]) {
	case "ſ": // which folds to s
		return i + 3
	}
	switch [2]byte{b[i+1] | 0x20, b[i+2] | 0x20} {
	case [2]byte{'r', 'e'}, [2]byte{'v', 'e'}, [2]byte{'l', 'l'}:
		return i + 3
	}
	return i
}

// symbols returns the end of the symbols at b[i] and of the line ends behind them.
func symbols(b []byte, i int) int {
	for i < len(b) {
		c, next := at(b, i)
		if !c.symbol() {
			break
		}
		i = next
	}
	for i < len(b) && (b[i] == '\r' || b[i] == '\n' || b[i] == '/') {
		i++
	}
	return i
}

// blanks returns the end of the white space at the start of b: its last line end,
// or else all but the last character, which the next piece may begin with.
func blanks(b []byte) int {
	lines, last := 0, 0 // ends: behind the last line end, before the last character
	for i := 0; i < len(b); {
		c, next := at(b, i)
		if !c.blank() {
			switch {
			case lines > 0:
				return lines
			case last > 0:
				return last
			}
			return i
		}
		if c == newline {
			lines = next
		}
		last, i = i, next
	}
	if lines > 0 {
		return lines
	}
	return len(b)
}
