package tokens

import (
	"sort"
	"unicode/utf8"
)

const (
	// stepBytes is how much Suffix counts at once.
	stepBytes = 512
	// fitBytes bounds a piece in the search for a cut, which counts the last
	// piece a dozen times.
	fitBytes = 4 << 10
	// reach is how many runes past a cut are tried: half a word may have
	// more tokens than the word.
	reach = 8
)

// Prefix returns the length of the longest prefix of b, cut between runes,
// that counts at most budget tokens. It costs as much as counting the prefix
// twice, exactly, at any size.
//
// Longest is up to a few runes, and as far as counts grow with the text,
// which they do except within words.
func Prefix(b []byte, budget int) int {
	n, whole := 0, true
	for left := budget; n < len(b) && left > 0; {
		size := bounded(b[n:], fitBytes)
		piece := b[n : n+size]
		tokens := countPiece(piece, false)
		if tokens > left {
			n += fit(piece, left)
			whole = false
			break
		}
		n += size
		left -= tokens
		whole = whole && size < fitBytes-utf8.UTFMax
	}
	for !whole && n > 0 && count(b[:n]) > budget {
		// A piece that is cut may be split otherwise, which is rare.
		n = runeStart(b, n-1)
	}
	return n
}

// fit is Prefix for a piece that is small, and too large for budget.
func fit(piece []byte, budget int) int {
	fits := func(n int) bool { return count(piece[:n]) <= budget }
	n := sort.Search(len(piece), func(i int) bool { return !fits(runeStart(piece, i+1)) })
	n = runeStart(piece, n)
	for n > 0 && !fits(n) {
		n = runeStart(piece, n-1)
	}
	best := n
	for range reach {
		if n == len(piece) {
			break
		}
		_, size := utf8.DecodeRune(piece[n:])
		if n += size; fits(n) {
			best = n
		}
	}
	return best
}

// Suffix returns the length of the longest suffix of b, cut between runes,
// that counts at most budget tokens. See [Prefix].
func Suffix(b []byte, budget int) int {
	n, exact := len(b), true // the suffix is b[n:]
	for left := budget; n > 0 && left > 0; {
		from, safe := cutBefore(b[:n], n-stepBytes, fitBytes)
		if n <= stepBytes {
			from, safe = 0, true
		}
		piece := b[from:n]
		tokens := count(piece)
		if tokens > left {
			n -= fitEnd(piece, left)
			break
		}
		n = from
		left -= tokens
		exact = exact && safe
	}
	for !exact && n < len(b) && count(b[n:]) > budget {
		_, size := utf8.DecodeRune(b[n:])
		n += size
	}
	return len(b) - n
}

// fitEnd is Suffix for a piece that is small, and too large for budget.
func fitEnd(piece []byte, budget int) int {
	fits := func(n int) bool { return count(piece[n:]) <= budget }
	n := sort.Search(len(piece), func(i int) bool { return fits(runeStart(piece, i)) })
	n = runeStart(piece, n)
	for n < len(piece) && !fits(n) {
		_, size := utf8.DecodeRune(piece[n:])
		n += size
	}
	best := n
	for range reach {
		if n == 0 {
			break
		}
		if n = runeStart(piece, n-1); fits(n) {
			best = n
		}
	}
	return len(piece) - best
}
