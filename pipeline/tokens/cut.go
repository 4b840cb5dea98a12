package tokens

import "unicode/utf8"

// pieceBytes is how much the tokenizer gets at once, if it can be cut there.
// The tokenizer's splitting expression is quadratic in runs of white space
// with line ends: 32 KiB of blank lines take 440 ms whole, and 10 in pieces of
// 512 bytes. For other text the size makes no difference.
const pieceBytes = 512

// safe reports whether no token of b goes across i, and neither side's
// tokens depend on the other side. So the counts of both sides add up.
//
// The expression splits text before it looks for tokens, from left to right,
// without looking back, into: words with one leading character and a
// contraction ('s, 'll) at the end; up to three digits; punctuation with one
// leading space and line ends or slashes at the end; white space. Thus
//
//   - a letter or digit ends what it is in, if another kind of character
//     follows that cannot be the apostrophe of a contraction. ASCII only, as
//     accents belong to words;
//   - a line end, if neither another nor a slash follows. The expression
//     reads as if it would take more white space up to the last line end,
//     but its implementation stops at the first; a test watches that.
func safe(b []byte, i int) bool {
	left, right := b[i-1], b[i]
	switch {
	case isAlnum(left):
		return right < utf8.RuneSelf && !isAlnum(right) && right != '\''
	case left == '\n', left == '\r':
		return right != '\n' && right != '\r' && right != '/'
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
