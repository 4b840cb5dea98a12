package search

import (
	"context"
	"hash/maphash"
)

// maxSeen bounds the compounds that are remembered while an index is built. Text
// repeats its words: 10 MB of English has 60,000.
const maxSeen = 1 << 17

// A termReader reads passages as terms, which it numbers.
type termReader struct {
	ctx   context.Context
	seed  maphash.Seed
	terms map[uint64]uint32 // numbers, by the hash of the token
	read  []uint32          // the terms of the words read so far

	// seen says where in read the words of a compound are, by the hash of how it is
	// written. What is written alike is taken apart and stemmed once.
	seen map[uint64]struct{ first, end uint32 }

	unchecked int // bytes read since ctx was looked at
}

func newTermReader(ctx context.Context, seed maphash.Seed, size int) *termReader {
	return &termReader{
		ctx:   ctx,
		seed:  seed,
		terms: make(map[uint64]uint32),
		read:  make([]uint32, 0, size/5), // English has a word in 6 bytes
		seen:  make(map[uint64]struct{ first, end uint32 }),
	}
}

// passage reads the words of a passage.
func (r *termReader) passage(text []byte) error {
	for c := (compound{}); ; {
		before := c.End
		if !c.next(text, before) {
			return nil
		}
		r.compound(text, &c)
		if r.unchecked += c.End - before; r.unchecked > chunkBytes {
			r.unchecked = 0
			if err := r.ctx.Err(); err != nil {
				return err
			}
		}
	}
}

// compound reads the words of a compound.
func (r *termReader) compound(text []byte, c *compound) {
	written := text[c.Start:c.End]
	if isNumeric(written) {
		for w := range c.words(text) {
			r.add(maphash.Bytes(r.seed, text[w.Start:w.End]))
		}
		return
	}
	hash := maphash.Bytes(r.seed, written)
	if s, ok := r.seen[hash]; ok {
		r.read = append(r.read, r.read[s.first:s.end]...)
		return
	}
	first := len(r.read)
	for w := range c.words(text) {
		r.add(maphash.String(r.seed, token(text[w.Start:w.End])))
	}
	if len(r.seen) < maxSeen {
		r.seen[hash] = struct{ first, end uint32 }{uint32(first), uint32(len(r.read))}
	}
}

// isNumeric reports whether a compound is a number, a date or an address, which are
// their own tokens. Logs and tables are full of such that never come again.
func isNumeric(compound []byte) bool {
	for _, b := range compound {
		if b > '9' { // letters and "_" come behind the digits, ".", "/" and "-" before
			return false
		}
	}
	return len(compound) <= maxTokenBytes
}

// add reads a word whose token has that hash.
func (r *termReader) add(hash uint64) {
	n, ok := r.terms[hash]
	if !ok {
		n = uint32(len(r.terms))
		r.terms[hash] = n
	}
	r.read = append(r.read, n)
}
