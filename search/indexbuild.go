package search

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
)

// maxMemo bounds the distinct chunks whose tokens are remembered while an
// index is built. Text repeats its words: 10 MB of English has 60,000.
const maxMemo = 1 << 17

// An indexBuild counts tokens, passage by passage.
type indexBuild struct {
	ctx  context.Context
	text []byte

	ids   map[string]uint32   // number of each token, by first appearance
	memo  map[string][]uint32 // tokens of each chunk
	pairs []pair              // by passage, then first appearance in it

	freqs  []uint32 // by token, of the passage being read; else 0
	seen   []uint32 // tokens with freqs over 0
	number [1]uint32
	unread int // bytes until ctx is looked at again
}

// A pair says how often a token stands in a passage.
type pair struct{ token, passage, freq uint32 }

func newIndexBuild(ctx context.Context, text []byte) *indexBuild {
	return &indexBuild{
		ctx:   ctx,
		text:  text,
		ids:   make(map[string]uint32),
		memo:  make(map[string][]uint32),
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
	if isNumber(chunk) {
		// Logs are full of numbers that never come again: not for the memo.
		id, ok := bd.ids[string(chunk)]
		if !ok {
			id = bd.add(string(chunk))
		}
		bd.number[0] = id
		return bd.number[:]
	}
	if ids, ok := bd.memo[string(chunk)]; ok {
		return ids
	}
	tokens := appendTokens(nil, chunk)
	ids := make([]uint32, len(tokens))
	for i, t := range tokens {
		id, ok := bd.ids[t]
		if !ok {
			id = bd.add(strings.Clone(t))
		}
		ids[i] = id
	}
	if len(chunk) <= maxTokenBytes && len(bd.memo) < maxMemo {
		bd.memo[string(chunk)] = ids
	}
	return ids
}

// isNumber reports whether chunk is its own only token.
func isNumber(chunk []byte) bool {
	for _, b := range chunk {
		if b < '0' || b > '9' {
			return false
		}
	}
	return len(chunk) <= maxTokenBytes
}

// add gives a new token its number.
func (bd *indexBuild) add(token string) uint32 {
	id := uint32(len(bd.freqs))
	bd.ids[token] = id
	bd.freqs = append(bd.freqs, 0)
	return id
}

// finish sorts what was counted into ix.
func (bd *indexBuild) finish(ix *Index) {
	names := make([]string, 0, len(bd.ids))
	for name := range bd.ids {
		names = append(names, name)
	}
	slices.Sort(names)

	// A counting sort of the pairs by token leaves each token's passages in
	// ascending order.
	ends := make([]int, len(bd.freqs)+1)
	for _, p := range bd.pairs {
		ends[p.token+1]++
	}
	for i := range bd.freqs {
		ends[i+1] += ends[i]
	}
	byToken := make([]uint32, len(bd.pairs))
	next := slices.Clone(ends)
	for i, p := range bd.pairs {
		byToken[next[p.token]] = uint32(i)
		next[p.token]++
	}

	ix.termEnds = make([]uint32, 0, len(names))
	ix.postEnds = make([]uint64, 0, len(names))
	for _, name := range names {
		id, before := bd.ids[name], uint32(0)
		for _, i := range byToken[ends[id]:ends[id+1]] {
			p := bd.pairs[i]
			ix.postings = binary.AppendUvarint(ix.postings, uint64(p.passage-before))
			ix.postings = binary.AppendUvarint(ix.postings, uint64(p.freq))
			before = p.passage
		}
		ix.postEnds = append(ix.postEnds, uint64(len(ix.postings)))
		ix.terms = append(ix.terms, name...)
		ix.termEnds = append(ix.termEnds, uint32(len(ix.terms)))
	}
	// Appending left up to a quarter unused.
	ix.postings = slices.Clip(slices.Clone(ix.postings))
	ix.terms = slices.Clip(slices.Clone(ix.terms))
}
