package search

import (
	"context"
	"hash/maphash"
)

// maxSeen bounds the compounds and the spellings that are remembered while an index
// is built. Text repeats its words: 10 MB of English has 60,000.
const maxSeen = 1 << 17

// A termReader reads passages as terms, which it numbers.
type termReader struct {
	ctx   context.Context
	seed  maphash.Seed
	terms map[uint64]uint32 // numbers, by the hash of the token
	read  []uint32          // the terms of the words read so far

	// What is written alike is read once: seen has where in read the words of a
	// compound are, and spellings the terms of words, by the hash of how they are
	// written. Running and runs are two spellings of run.
	seen      map[uint64]struct{ first, end uint32 }
	spellings map[uint64]uint32

	unchecked int // bytes read since ctx was looked at
}

func newTermReader(ctx context.Context, seed maphash.Seed, size int) *termReader {
	return &termReader{
		ctx:       ctx,
		seed:      seed,
		terms:     make(map[uint64]uint32),
		read:      make([]uint32, 0, size/5), // English has a word in 6 bytes
		seen:      make(map[uint64]struct{ first, end uint32 }),
		spellings: make(map[uint64]uint32),
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
			r.read = append(r.read, r.number(maphash.Bytes(r.seed, text[w.Start:w.End])))
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
		r.read = append(r.read, r.term(text[w.Start:w.End]))
	}
	if len(r.seen) < maxSeen {
		r.seen[hash] = struct{ first, end uint32 }{uint32(first), uint32(len(r.read))}
	}
}

// isNumeric reports whether word is a number, a date or an address of no more bytes
// than a token may have: then it is its own token. Logs and tables are full of numbers
// that never come again.
func isNumeric(word []byte) bool {
	for _, b := range word {
		if b > '9' { // letters and "_" come behind the digits, ".", "/" and "-" before
			return false
		}
	}
	return len(word) <= maxTokenBytes
}

// term returns the number of the term of a word.
func (r *termReader) term(word []byte) uint32 {
	hash := maphash.Bytes(r.seed, word)
	n, ok := r.spellings[hash]
	if !ok {
		n = r.number(maphash.String(r.seed, token(word)))
		if len(r.spellings) < maxSeen {
			r.spellings[hash] = n
		}
	}
	return n
}

// number returns the number of the term whose token has that hash, a new one if it
// has none yet.
func (r *termReader) number(hash uint64) uint32 {
	n, ok := r.terms[hash]
	if !ok {
		n = uint32(len(r.terms))
		r.terms[hash] = n
	}
	return n
}
