package tokens

import "unicode/utf8"

// lookBytes is how much white space behind a line end is looked at.
const lookBytes = 128

// safe reports whether no token of b goes across i, and neither side's
// tokens depend on the other side. So the counts of both sides add up.
//
// As text is split, see [piece],
//
//   - a letter or digit ends what it is in, if another kind of character
//     follows that cannot be the apostrophe of a contraction. ASCII only, as
//     accents belong to words;
//   - a line end does, if no slash follows, and no other line end, with or
//     without white space between them.
func safe(b []byte, i int) bool {
	left, right := b[i-1], b[i]
	switch {
	case isAlnum(left):
		return right < utf8.RuneSelf && !isAlnum(right) && right != '\''
	case left == '\n', left == '\r':
		return right != '/' && !moreLines(b[i:])
	}
	return false
}

// moreLines reports whether b begins with a line end, after white space or not. It
// is true also of more white space than lookBytes.
func moreLines(b []byte) bool {
	for i := 0; i < len(b); {
		c, next := at(b, i)
		if c == newline || i > lookBytes {
			return true
		}
		if c != space {
			return false
		}
		i = next
	}
	return false
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// cutAfter returns the first safe cut of b at or after at, less than limit
// bytes later. Without one it returns the rune boundary there, or len(b),
// and reports whether the cut is safe.
func cutAfter(b []byte, at, limit int) (i int, ok bool) {
	if at <= 0 {
		return 0, true
	}
	end := len(b)
	if limit < end-at {
		end = at + limit
	}
	for i := at; i < end; i++ {
		if safe(b, i) {
			return i, true
		}
	}
	if end >= len(b) {
		return len(b), true
	}
	return runeStart(b, end), false
}

// cutBefore is cutAfter in the other direction, down to 0.
func cutBefore(b []byte, at, limit int) (i int, ok bool) {
	if at >= len(b) {
		return len(b), true
	}
	end := max(0, at-limit)
	for i := at; i > end; i-- {
		if safe(b, i) {
			return i, true
		}
	}
	if end == 0 {
		return 0, true
	}
	return runeStart(b, end), false
}

// runeStart returns the last rune boundary of b up to i. Bytes that are not
// UTF-8 are runes of their own.
func runeStart(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	for j := i; j > 0 && j > i-utf8.UTFMax; j-- {
		if utf8.RuneStart(b[j]) {
			if _, size := utf8.DecodeRune(b[j:]); j+size > i {
				return j
			}
			return i
		}
	}
	return i
}
