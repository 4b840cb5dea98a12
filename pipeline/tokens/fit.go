package tokens

import (
	"sort"
	"unicode/utf8"
)

// Prefix returns the length of the longest prefix of b, cut between runes,
// that counts at most budget tokens.
//
// Longest is up to a few runes, and as far as counts grow with the text,
// which they do except within words.
func Prefix(b []byte, budget int) int {
	if AtMost(b, budget) {
		return len(b)
	}
	return fit(len(b), budget, func(n int) ([]byte, int) {
		n = runeStart(b, n)
		return b[:n], n
	})
}

// Suffix returns the length of the longest suffix of b, cut between runes,
// that counts at most budget tokens. See [Prefix].
func Suffix(b []byte, budget int) int {
	if AtMost(b, budget) {
		return len(b)
	}
	return fit(len(b), budget, func(n int) ([]byte, int) {
		from := runeStart(b, len(b)-n)
		for len(b)-from > n { // rather a rune less than one more
			_, size := utf8.DecodeRune(b[from:])
			from += size
		}
		return b[from:], len(b) - from
	})
}

// fit searches for the largest part, of about n bytes out of size, that has at most
// budget tokens.
func fit(size, budget int, part func(n int) (text []byte, length int)) int {
	if budget <= 0 {
		return 0
	}
	fits := func(n int) bool { text, _ := part(n); return count(text) <= budget }
	most := size
	if budget < size/maxTokenBytes {
		most = budget * maxTokenBytes // no token is longer
	}
	n := sort.Search(most, func(i int) bool { text, _ := part(i + 1); return !AtMost(text, budget) })
	for n > 0 && !fits(n) { // counts do not always grow with the text
		n--
	}
	_, length := part(n)
	return length
}
