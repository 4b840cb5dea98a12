package search

import (
	"context"
	"encoding/binary"
	"slices"
)

// maxMemo bounds the distinct chunks whose tokens are remembered while an
// index is built. Text repeats its words: 10 MB of English has 60,000.
const maxMemo = 1 << 17

// An indexBuild counts tokens, passage by passage.
type indexBuild struct {
	ctx  context.Context
	text []byte

	terms termTable // the tokens
	pairs []pair    // by passage, then first appearance in it

	// The tokens of each chunk that was seen, as far as they are remembered.
	chunks    termTable
	chunkEnds []uint32 // where those of each chunk end in chunkIDs
	chunkIDs  []uint32

	freqs  []uint32 // by token, of the passage being read; else 0
	seen   []uint32 // tokens with freqs over 0
	few    []uint32 // scratch of tokens
	unread int      // bytes until ctx is looked at again
}

// A pair says how often a token stands in a passage.
type pair struct{ token, passage, freq uint32 }

func newIndexBuild(ctx context.Context, text []byte) *indexBuild {
	return &indexBuild{
		ctx:   ctx,
		text:  text,
		pairs: make([]pair, 0, len(text)/10), // English has one in 9 bytes
	}
}

// passage counts the tokens of p and returns how many there are.
func (bd *indexBuild) passage(number uint32, p Span) (int, error) {
	text := bd.text[p.Start:p.End]
	n := 0
	for pos := 0; pos < len(text); {
		// Cut, so that a text without words cannot hide from ctx either.
		part := text[:min(len(text), pos+chunkBytes)]
		start, end := nextChunk(part, pos)
		if len(part) < len(text) && end > len(part)-maxChunkBytes && start > pos {
			end = start // may be cut short: read it again from its start
		}
		if bd.unread -= end - pos; bd.unread <= 0 {
			bd.unread = chunkBytes
			if err := bd.ctx.Err(); err != nil {
				return n, err
			}
		}
		for _, id := range bd.tokens(text[start:end]) {
			if bd.freqs[id]++; bd.freqs[id] == 1 {
				bd.seen = append(bd.seen, id)
			}
			n++
		}
		pos = end
	}
	for _, id := range bd.seen {
		bd.pairs = append(bd.pairs, pair{id, number, bd.freqs[id]})
		bd.freqs[id] = 0
	}
	bd.seen = bd.seen[:0]
	return n, nil
}

// tokens returns the numbers of a chunk's tokens, until the next call.
func (bd *indexBuild) tokens(chunk []byte) []uint32 {
	if len(chunk) == 0 {
		return nil
	}
	bd.few = bd.few[:0]
	if isNumeric(chunk) {
		// Logs and tables are full of numbers that never come again: not for
		// the memo.
		for rest := chunk; len(rest) > 0; {
			n := 0
			for n < len(rest) && !isJoint(rest[n]) {
				n++
			}
			bd.few = append(bd.few, bd.add(rest[:n]))
			rest = rest[min(n+1, len(rest)):]
		}
		if len(bd.few) > 1 {
			bd.few = append(bd.few, bd.add(chunk))
		}
		return bd.few
	}
	if n, ok := bd.chunks.find(chunk); ok {
		start := uint32(0)
		if n > 0 {
			start = bd.chunkEnds[n-1]
		}
		return bd.chunkIDs[start:bd.chunkEnds[n]]
	}
	for _, t := range appendTokens(nil, chunk) {
		bd.few = append(bd.few, bd.add([]byte(t)))
	}
	if len(chunk) <= maxTokenBytes && bd.chunks.len() < maxMemo {
		bd.chunks.add(chunk)
		bd.chunkIDs = append(bd.chunkIDs, bd.few...)
		bd.chunkEnds = append(bd.chunkEnds, uint32(len(bd.chunkIDs)))
	}
	return bd.few
}

// isNumeric reports whether chunk is a number, a date, an address: digits and
// what joins them. Its tokens need neither stems nor small letters.
func isNumeric(chunk []byte) bool {
	if len(chunk) > maxTokenBytes {
		return false
	}
	for _, b := range chunk {
		if (b < '0' || b > '9') && !isJoint(b) {
			return false
		}
	}
	return true
}

// add returns the number of a token.
func (bd *indexBuild) add(token []byte) uint32 {
	id, added := bd.terms.add(token)
	if added {
		bd.freqs = append(bd.freqs, 0)
	}
	return id
}

// finish moves what was counted into ix.
func (bd *indexBuild) finish(ix *Index) {
	// A counting sort of the pairs by token leaves each token's passages in
	// ascending order.
	ends := make([]uint32, len(bd.freqs)+1)
	for _, p := range bd.pairs {
		ends[p.token+1]++
	}
	for i := range bd.freqs {
		ends[i+1] += ends[i]
	}
	sorted := make([]posting, len(bd.pairs))
	for _, p := range bd.pairs {
		// ends[token] moves from where the token's postings begin to where
		// they end, which is where the next token's began.
		sorted[ends[p.token]] = posting{p.passage, p.freq}
		ends[p.token]++
	}
	bd.pairs = nil
	ix.postings = make([]byte, 0, 3*len(sorted))
	ix.postEnds = make([]uint32, bd.terms.len())
	start := uint32(0)
	for id := range ix.postEnds {
		before := uint32(0)
		for _, p := range sorted[start:ends[id]] {
			ix.postings = binary.AppendUvarint(ix.postings, uint64(p.passage-before))
			ix.postings = binary.AppendUvarint(ix.postings, uint64(p.freq))
			before = p.passage
		}
		start = ends[id]
		ix.postEnds[id] = uint32(len(ix.postings))
	}
	// Appending left up to a half unused.
	ix.postings = slices.Clip(slices.Clone(ix.postings))
	ix.terms = bd.terms
	ix.terms.keys = slices.Clip(slices.Clone(ix.terms.keys))
}

// A posting is a passage that has a token, and how often.
type posting struct{ passage, freq uint32 }
