// Package tokens counts what text costs an agent, in tokens of o200k_base.
//
//	Count   text ──► tokens: exact up to 64 KiB, an estimate above
//	AtMost  text, budget ──► does it fit?
//	Prefix  text, budget ──► bytes from the start that fit
//	Suffix  text, budget ──► bytes from the end that fit
//
// Any bytes can be counted: each one that is not UTF-8 counts as U+FFFD, which
// is what JSON makes of it, and special tokens such as <|endoftext|> count as
// the plain text that they are in data.
//
// The first call loads the vocabulary: 10 ms and 2 MB.
package tokens

import "unicode/utf8"

const (
	// exactBytes is where counting takes as long as estimating does: 64 KiB are
	// a millisecond, 5 of base64.
	exactBytes = 64 << 10

	// The same 64 KiB in many small samples see more of a result made of
	// different parts. Over 114 texts, most of them mixed, the worst estimate
	// was off by 4.8 % with 64 samples, 2.5 with 128 and 1.2 with 256. More
	// would be slower: each starts and ends in a search for a cut.
	samples     = 256
	sampleBytes = exactBytes / samples
)

// Count returns the number of tokens in b, and whether it is exact. Up to
// 64 KiB it is; above, it is an estimate from samples spread over b, within
// 2 % for the data that tools return, at a cost that does not grow with b.
// The same b gives the same n.
func Count(b []byte) (n int, exact bool) {
	if len(b) <= exactBytes {
		return count(b), true
	}
	var tokens float64
	for i := range samples {
		from, to := sample(b, i)
		// Each part counts by its own density: samples that find their safe
		// cut late, as in base64, would otherwise count for more.
		tokens += float64(count(b[from:to])) / float64(to-from)
	}
	return int(tokens/samples*float64(len(b)) + 0.5), false
}

// sample returns the i-th sample of b, cut where no token is. Its place in
// the i-th part of b is scattered, so that records that repeat at the samples'
// distance are not always hit in the same field. The scattering is fixed:
// equal inputs give equal counts.
func sample(b []byte, i int) (from, to int) {
	start := len(b) / samples * i
	if room := len(b)/samples - sampleBytes; room > 0 {
		// Fibonacci hashing: consecutive i land far apart.
		start += int(uint64(uint32(i)*2654435769) * uint64(room) >> 32)
	}
	from, _ = cutAfter(b, start, sampleBytes)
	to, _ = cutAfter(b, min(from+sampleBytes, len(b)), sampleBytes)
	return from, to
}

// AtMost reports whether b has at most budget tokens. It stops counting when
// it knows, so a large b costs no more than a large budget. It is exact also
// where [Count] is not, unless one word or run of symbols or white space is longer
// than 64 KiB: then each such stretch may count one token more than it has.
func AtMost(b []byte, budget int) bool {
	switch {
	case len(b) == 0:
		return budget >= 0
	case budget <= 0 || (len(b)-1)/maxTokenBytes >= budget:
		return false
	}
	valid := utf8.Valid(b)
	if valid && len(b) <= budget {
		return true // a token has at least one byte
	}
	for len(b) > 0 {
		n := bounded(b, exactBytes)
		if budget -= countPiece(b[:n], valid); budget < 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// bounded is piece, or the first limit bytes of it.
func bounded(b []byte, limit int) int {
	if n := piece(b[:min(len(b), limit)]); n < limit {
		return n
	}
	return runeStart(b, limit)
}

// count counts b exactly.
func count(b []byte) int {
	n, valid := 0, utf8.Valid(b)
	for len(b) > 0 {
		end := piece(b)
		n += countPiece(b[:end], valid)
		b = b[end:]
	}
	return n
}

// countPiece counts what [piece] has found, valid being whether it is UTF-8 for
// certain.
func countPiece(b []byte, valid bool) int {
	if !valid && !utf8.Valid(b) {
		b = []byte(string([]rune(string(b))))
	}
	return vocabulary().merged(b)
}
