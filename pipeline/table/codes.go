package table

import (
	"strings"
	"unicode/utf8"
)

// isYear reports whether s is one of 1000 to 2999.
func isYear(s []byte) bool {
	return len(s) == 4 && (s[0] == '1' || s[0] == '2') && digits(s, 1) == 4
}

// A codeFinder tells the columns of codes, whose cells only look like numbers:
// postal codes (01234), versions (1.9 and 1.10), hashes (12e5). A number that
// is written so in some cells and otherwise in others would not equal itself.
type codeFinder struct {
	code [maxColumns]bool
	// Digits behind the point: the fewest of a cell that has any, and the most
	// of one that ends in a zero, from two on.
	fewest, zeros [maxColumns]uint8
}

func (f *codeFinder) same(o codeFinder) bool { return f.code == o.code }

// isCode takes a cell of column i into account and reports whether the column
// is known to have codes.
func (f *codeFinder) isCode(i int, cell []byte) bool {
	if f.code[i] || len(cell) < 2 || !isDigit(cell[len(cell)-1]) {
		return f.code[i]
	}
	at := digits(cell, 0)
	switch {
	case at == len(cell):
		f.code[i] = cell[0] == '0'
		return f.code[i]
	case digits(cell, at+1) < len(cell):
		return false // what stands at at is not alone
	case cell[at] == 'e':
		// Nobody writes a number as 12e5 who has no point or sign.
		f.code[i] = at > 0
		return f.code[i]
	case cell[at] != '.':
		return false
	}
	n := uint8(min(len(cell)-at-1, 255))
	if f.fewest[i] == 0 || n < f.fewest[i] {
		f.fewest[i] = n
	}
	if n > 1 && cell[len(cell)-1] == '0' {
		f.zeros[i] = max(f.zeros[i], n)
	}
	f.code[i] = f.zeros[i] > f.fewest[i]
	return f.code[i]
}

// isNumeral reports whether s is a number as JSON spells it.
func isNumeral(s []byte) bool {
	i := 0
	if len(s) > 0 && s[0] == '-' {
		i = 1
	}
	from := i
	if i = digits(s, i); i == from || s[from] == '0' && i > from+1 {
		return false
	}
	if i < len(s) && s[i] == '.' {
		from = i + 1
		if i = digits(s, from); i == from {
			return false
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		from = i
		if i = digits(s, from); i == from {
			return false
		}
	}
	return i == len(s)
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// digits returns the offset behind the digits of s from i on.
func digits(s []byte, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

// utf8Text is b with U+FFFD for each byte that is not UTF-8, as JSON
// decoders have it.
func utf8Text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	s.Grow(len(b))
	for _, r := range string(b) {
		s.WriteRune(r)
	}
	return s.String()
}
