package search

import (
	"encoding/binary"
	"math"
)

// A termPostings holds, for each term, the number of passages that have it and
// then, in ascending order, the passages: how many after the last one, and how
// often it stands there. All are varints; most take a byte.
type termPostings struct {
	bytes  []byte
	ends   []uint32 // where each term's end
	common map[uint32]*commonTerm
}

// A commonTerm has commonHolders passages or more. It knows what may spare a
// query to read them all.
type commonTerm struct {
	most  float64 // of what it is worth to a passage, without the idf
	skips []skip  // one for each skipPostings
}

// A skip is where the next postings begin in those of a term, and the passage
// before them.
type skip struct{ passage, at uint32 }

const (
	commonHolders = 1024
	// A skip for so many postings takes a tenth of what they take.
	skipPostings = 64
)

// newPostings turns the tokens of passages into the postings of terms. Passage n
// has the next lengths[n] tokens. What a term is worth is worth of its frequency
// and the length.
func newPostings(tokens, lengths []uint32, terms int, worth func(freq, length uint32) float64) termPostings {
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
	p := termPostings{
		bytes:  make([]byte, 0, 2*len(tokens)),
		ends:   make([]uint32, terms),
		common: make(map[uint32]*commonTerm),
	}
	start := uint32(0)
	for t := range p.ends {
		if c := p.append(sorted[start:ends[t]], lengths, worth); c != nil {
			p.common[uint32(t)] = c
		}
		start = ends[t]
		p.ends[t] = uint32(len(p.bytes))
	}
	p.bytes = clip(p.bytes)
	return p
}

// append adds a term, which stands in the passages given.
func (p *termPostings) append(passages, lengths []uint32, worth func(freq, length uint32) float64) *commonTerm {
	if len(passages) == 1 {
		p.bytes = append(p.bytes, 1)
		p.gap(passages[0], 1)
		return nil
	}
	holders := uint64(1)
	for i := 1; i < len(passages); i++ {
		if passages[i] != passages[i-1] {
			holders++
		}
	}
	p.bytes = binary.AppendUvarint(p.bytes, holders)
	var common *commonTerm
	if holders >= commonHolders {
		common = &commonTerm{skips: make([]skip, 0, (holders-1)/skipPostings)}
	}
	first := len(p.bytes)
	shortest := uint32(math.MaxUint32) // that has the term once
	before := uint32(0)
	for i, n := 0, 0; i < len(passages); n++ {
		passage, freq := passages[i], uint32(1)
		for i++; i < len(passages) && passages[i] == passage; i++ {
			freq++
		}
		if common != nil {
			if n > 0 && n%skipPostings == 0 {
				common.skips = append(common.skips, skip{before, uint32(len(p.bytes) - first)})
			}
			if freq == 1 {
				shortest = min(shortest, lengths[passage])
			} else {
				common.most = max(common.most, worth(freq, lengths[passage]))
			}
		}
		p.gap(passage-before, freq)
		before = passage
	}
	if common != nil {
		common.most = max(common.most, worth(1, shortest))
	}
	return common
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
	c.list, c.commonTerm = c.rest, p.common[term]
	return c
}

// A postingCursor stands at one passage of a term after another.
type postingCursor struct {
	*commonTerm // nil if it is not one

	list    []byte // all postings
	rest    []byte // those that follow
	skipped int    // skips that are behind
	holders int    // passages of the term
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

// seek goes to the first passage that is not before the given one and reports
// whether there is one.
func (c *postingCursor) seek(passage int) bool {
	if c.passage >= passage {
		return true
	}
	if c.commonTerm != nil {
		at := c.skipped
		for at < len(c.skips) && int(c.skips[at].passage) < passage {
			at++
		}
		if at > c.skipped {
			c.skipped = at
			if s := c.skips[at-1]; int(s.passage) > c.passage {
				c.passage, c.rest = int(s.passage), c.list[s.at:]
			}
		}
	}
	for c.passage < passage {
		if len(c.rest) > 0 && c.rest[0]&0x81 == 0 {
			c.passage += int(c.rest[0] >> 1)
			c.rest, c.freq = c.rest[1:], 1
		} else if !c.next() {
			return false
		}
	}
	return true
}

// sizeBytes is the memory that the postings hold.
func (p *termPostings) sizeBytes() int {
	n := cap(p.bytes) + 4*cap(p.ends)
	for _, c := range p.common {
		n += 64 + 8*cap(c.skips) // and the map's
	}
	return n
}
