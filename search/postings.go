package search

import "encoding/binary"

// A termPostings holds, for each term, the number of passages that have it and
// then, in ascending order, the passages: how many after the last one, and how
// often it stands there. All are varints; most take a byte.
type termPostings struct {
	bytes []byte
	ends  []uint32 // where each term's end
}

// newPostings turns the tokens of passages into the postings of terms. Passage n
// has the next lengths[n] tokens.
func newPostings(tokens, lengths []uint32, terms int) termPostings {
	// A counting sort of the passages by token leaves each token's passages in
	// ascending order.
	ends := make([]uint32, terms+1)
	for _, t := range tokens {
		ends[t+1]++
	}
	for i := range terms {
		ends[i+1] += ends[i]
	}
	sorted := make([]uint32, len(tokens))
	rest := tokens
	for passage, n := range lengths {
		for _, t := range rest[:n] {
			// ends[t] moves from where the token's passages begin to where
			// they end, which is where the next token's began.
			sorted[ends[t]] = uint32(passage)
			ends[t]++
		}
		rest = rest[n:]
	}
	p := termPostings{bytes: make([]byte, 0, 2*len(tokens)), ends: make([]uint32, terms)}
	start := uint32(0)
	for t := range p.ends {
		p.append(sorted[start:ends[t]])
		start = ends[t]
		p.ends[t] = uint32(len(p.bytes))
	}
	p.bytes = clip(p.bytes)
	return p
}

// append adds a term, which stands in the passages given.
func (p *termPostings) append(passages []uint32) {
	if len(passages) == 1 {
		p.bytes = append(p.bytes, 1)
		p.gap(passages[0], 1)
		return
	}
	holders := uint64(1)
	for i := 1; i < len(passages); i++ {
		if passages[i] != passages[i-1] {
			holders++
		}
	}
	p.bytes = binary.AppendUvarint(p.bytes, holders)
	before := uint32(0)
	for i := 0; i < len(passages); {
		passage, freq := passages[i], uint32(1)
		for i++; i < len(passages) && passages[i] == passage; i++ {
			freq++
		}
		p.gap(passage-before, freq)
		before = passage
	}
}

// gap adds a posting: twice the gap, and one more if a frequency follows, which
// 1 does not.
func (p *termPostings) gap(gap, freq uint32) {
	if freq == 1 {
		p.bytes = binary.AppendUvarint(p.bytes, uint64(gap)<<1)
		return
	}
	p.bytes = binary.AppendUvarint(p.bytes, uint64(gap)<<1|1)
	p.bytes = binary.AppendUvarint(p.bytes, uint64(freq))
}

// cursor returns the postings of a term, before the first.
func (p *termPostings) cursor(term uint32) postingCursor {
	start := uint32(0)
	if term > 0 {
		start = p.ends[term-1]
	}
	c := postingCursor{rest: p.bytes[start:p.ends[term]]}
	holders, n := binary.Uvarint(c.rest)
	c.rest, c.holders = c.rest[n:], int(holders)
	return c
}

// A postingCursor stands at one passage of a term after another.
type postingCursor struct {
	rest    []byte
	holders int // passages of the term
	passage int
	freq    int
}

// next goes to the next passage and reports whether there is one.
func (c *postingCursor) next() bool {
	if len(c.rest) == 0 {
		return false
	}
	gap, n := uint64(c.rest[0]), 1
	if gap >= 0x80 {
		gap, n = binary.Uvarint(c.rest)
	}
	c.rest = c.rest[n:]
	c.passage += int(gap >> 1)
	c.freq = 1
	if gap&1 != 0 {
		freq, n := binary.Uvarint(c.rest)
		c.freq = int(freq)
		c.rest = c.rest[n:]
	}
	return true
}
