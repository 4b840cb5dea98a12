package search

import (
	"context"
	"unicode/utf8"
)

// An indexBuild reads the tokens of passages, one after another.
type indexBuild struct {
	ctx  context.Context
	text []byte

	terms   termTable   // the distinct tokens
	tokens  []uint32    // those of the passages, as they stand there
	chunks  memo        // tokens of chunks, and of pieces of chunks
	numbers numberTable // those of up to four digits

	few    []uint32 // scratch: tokens of a chunk
	word   []byte   // scratch: a token
	unread int      // bytes until ctx is looked at again
}

func newIndexBuild(ctx context.Context, text []byte) *indexBuild {
	return &indexBuild{
		ctx:    ctx,
		text:   text,
		tokens: make([]uint32, 0, len(text)/5), // English has one in 6 bytes
		chunks: newMemo(text),
	}
}

// passage reads the tokens of p.
func (bd *indexBuild) passage(p Span) error {
	for pos := p.Start; pos < p.End; {
		// Cut, so that a text without words cannot hide from ctx either.
		part := bd.text[:min(p.End, pos+chunkBytes)]
		start, end := nextChunk(part, pos)
		if len(part) < p.End && end > len(part)-maxChunkBytes && start > pos {
			end = start // may be cut short: read it again from its start
		}
		if bd.unread -= end - pos; bd.unread <= 0 {
			bd.unread = chunkBytes
			if err := bd.ctx.Err(); err != nil {
				return err
			}
		}
		if start < end {
			bd.chunk(start, end)
		}
		pos = end
	}
	return nil
}

// chunk reads the tokens of the chunk text[start:end].
func (bd *indexBuild) chunk(start, end int) {
	if end-start > maxTokenBytes {
		bd.few = bd.split(bd.few[:0], bd.text[start:end], start)
		bd.tokens = append(bd.tokens, bd.few...)
		return
	}
	k := bd.chunks.key(start, end)
	if s := bd.chunks.find(&k); s != nil {
		if s.count == 1 {
			bd.tokens = append(bd.tokens, s.first)
		} else {
			bd.tokens = append(bd.tokens, bd.chunks.tokens[s.first:s.first+uint32(s.count)]...)
		}
		return
	}
	chunk := bd.text[start:end]
	if isNumeric(chunk) {
		if bd.number(chunk) {
			bd.chunks.put(k, bd.few)
		}
	} else {
		bd.few = bd.split(bd.few[:0], chunk, start)
		bd.chunks.put(k, bd.few)
	}
	bd.tokens = append(bd.tokens, bd.few...)
}

// split appends the tokens of a chunk, which begins at start.
func (bd *indexBuild) split(to []uint32, chunk []byte, start int) []uint32 {
	if r, _ := decode(chunk, 0); isUnspaced(r) {
		before := 0
		for at, r := range string(chunk) {
			end := at + utf8.RuneLen(r)
			if at > 0 {
				to = append(to, bd.add(chunk[before:end]))
			}
			to = append(to, bd.add(chunk[at:end]))
			before = at
		}
		return to
	}
	first := len(to)
	for pos := 0; ; {
		from, end := nextPiece(chunk, pos)
		if from == end {
			break
		}
		to = append(to, bd.piece(start+from, start+end, end-from < len(chunk)))
		pos = end
	}
	if len(to)-first > 1 && len(chunk) <= maxTokenBytes {
		to = append(to, bd.stem(chunk))
	}
	return to
}

// piece returns the token of the piece text[start:end] of a chunk, which is the
// only one that it has as a chunk of its own.
func (bd *indexBuild) piece(start, end int, part bool) uint32 {
	piece := bd.text[start:end]
	if !part || len(piece) > maxTokenBytes {
		return bd.stem(piece)
	}
	k := bd.chunks.key(start, end)
	if s := bd.chunks.find(&k); s != nil {
		return s.first
	}
	token := bd.stem(piece)
	bd.chunks.put(k, []uint32{token})
	return token
}

// stem returns the token of a word.
func (bd *indexBuild) stem(word []byte) uint32 {
	bd.word = appendToken(bd.word[:0], word)
	return bd.add(bd.word)
}

// add returns the number of a token.
func (bd *indexBuild) add(token []byte) uint32 {
	n, _ := bd.terms.add(token)
	return n
}

// isNumeric reports whether chunk is a number, a date, an address: digits and
// what joins them. Its tokens need neither stems nor small letters.
func isNumeric(chunk []byte) bool {
	for _, b := range chunk {
		if (b < '0' || b > '9') && !isJoint(b) {
			return false
		}
	}
	return true
}

// number reads the tokens of a numeric chunk into few and reports whether it was
// there before. Logs and tables are full of numbers that never come again: the
// memo is for those that do.
func (bd *indexBuild) number(chunk []byte) (again bool) {
	bd.few = bd.few[:0]
	for rest := chunk; len(rest) > 0; {
		n := 0
		for n < len(rest) && !isJoint(rest[n]) {
			n++
		}
		var token uint32
		var added bool
		if known := bd.numbers.slot(rest[:n]); known == nil {
			token, added = bd.terms.add(rest[:n])
		} else {
			if added = *known == 0; added {
				*known = bd.add(rest[:n]) + 1
			}
			token = *known - 1
		}
		again = !added
		bd.few = append(bd.few, token)
		rest = rest[min(n+1, len(rest)):]
	}
	if len(bd.few) > 1 {
		token, added := bd.terms.add(chunk)
		bd.few = append(bd.few, token)
		again = !added
	}
	return again
}

// A numberTable has the tokens, plus 1, of numbers of up to four digits.
type numberTable [10 + 100 + 1000 + 10000]uint32

// slot returns the place of a number, or nil if it is too long.
func (t *numberTable) slot(digits []byte) *uint32 {
	if len(digits) > 4 {
		return nil
	}
	n, first, size := 0, 0, 1
	for _, b := range digits {
		n = 10*n + int(b-'0')
		first += size
		size *= 10
	}
	return &t[first-1+n]
}
