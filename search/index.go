package search

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"unsafe"
)

// An Index ranks the passages of one text. It is an inverted index: for each term,
// the passages that have it and how often. It takes a fifth of the size of source
// code, a third of that of a log, and one and a half times that of a table of numbers of which
// none comes again. It does not refer to the text and is safe for concurrent use.
type Index struct {
	lengths []uint32 // of each passage, in words
	average float64  // of lengths

	// terms are the hashes of the tokens, ascending. Two of a million terms share
	// one in one text of thirty million.
	terms []uint64
	seed  maphash.Seed
	// The postings of terms[n] end at ends[n]: for each passage, in ascending order,
	// how many after the last one it is, and how often it has the term. See
	// appendPosting.
	postings []byte
	ends     []uint32
}

// NewIndex reads text and counts the words of its passages: those of [Passages], or
// the caller's own, for instance one for each JSON record. A passage outside of
// text is an error, and so is a ctx that ends before the index is complete.
func NewIndex(ctx context.Context, text []byte, passages []Span) (*Index, error) {
	ix := &Index{lengths: make([]uint32, len(passages)), seed: maphash.MakeSeed()}
	r := newTermReader(ctx, ix.seed, len(text))
	for i, p := range passages {
		if p != p.clamp(len(text)) {
			return nil, fmt.Errorf("passage %d: [%d,%d) is not in a text of %d bytes", i, p.Start, p.End, len(text))
		}
		before := len(r.read)
		if err := r.passage(text[p.Start:p.End]); err != nil {
			return nil, err
		}
		ix.lengths[i] = uint32(len(r.read) - before)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ix.average = max(1, float64(len(r.read))) / float64(max(1, len(passages)))
	ix.terms = slices.AppendSeq(make([]uint64, 0, len(r.terms)), maps.Keys(r.terms))
	slices.Sort(ix.terms)
	place := make([]uint32, len(ix.terms)) // in ix.terms, by the reader's number
	for i, hash := range ix.terms {
		place[r.terms[hash]] = uint32(i)
	}
	for i, number := range r.read {
		r.read[i] = place[number]
	}
	ix.invert(r.read)
	return ix, nil
}

// invert turns the terms of passages into the passages of terms.
func (ix *Index) invert(read []uint32) {
	// A counting sort by term leaves each term's passages in ascending order.
	ends := make([]uint32, len(ix.terms)+1)
	for _, term := range read {
		ends[term+1]++
	}
	for n := 1; n < len(ends); n++ {
		ends[n] += ends[n-1]
	}
	sorted := make([]uint32, len(read))
	for passage, length := range ix.lengths {
		for _, term := range read[:length] {
			// ends[term] moves from where the term's passages begin to where they
			// end, which is where the next term's began.
			sorted[ends[term]] = uint32(passage)
			ends[term]++
		}
		read = read[length:]
	}
	ix.ends = ends[:len(ix.terms)]
	start := uint32(0)
	for n, end := range ix.ends {
		before := uint32(0)
		for passages := sorted[start:end]; len(passages) > 0; {
			freq := 1
			for freq < len(passages) && passages[freq] == passages[0] {
				freq++
			}
			ix.postings = appendPosting(ix.postings, passages[0]-before, freq)
			before, passages = passages[0], passages[freq:]
		}
		start, ix.ends[n] = end, uint32(len(ix.postings))
	}
	ix.postings = slices.Clone(ix.postings) // without what appending left unused
}

// appendPosting appends one posting as varints, of which most take a byte: twice
// the gap to the passage before, and one more if a frequency follows. A frequency of
// 1 does not.
func appendPosting(to []byte, gap uint32, freq int) []byte {
	if freq == 1 {
		return binary.AppendUvarint(to, uint64(gap)<<1)
	}
	return binary.AppendUvarint(binary.AppendUvarint(to, uint64(gap)<<1|1), uint64(freq))
}

// holders returns the passages that have the term with that token, and how often
// each has it.
func (ix *Index) holders(token string) iter.Seq2[int, int] {
	n, ok := slices.BinarySearch(ix.terms, maphash.String(ix.seed, token))
	if !ok {
		return func(func(int, int) bool) {}
	}
	start := uint32(0)
	if n > 0 {
		start = ix.ends[n-1]
	}
	return func(yield func(passage, freq int) bool) {
		passage := 0
		for list := ix.postings[start:ix.ends[n]]; len(list) > 0; {
			gap, size := binary.Uvarint(list)
			list = list[size:]
			freq := uint64(1)
			if gap&1 != 0 {
				freq, size = binary.Uvarint(list)
				list = list[size:]
			}
			passage += int(gap >> 1)
			if !yield(passage, int(freq)) {
				return
			}
		}
	}
}

// SizeBytes returns the memory that the index holds.
func (ix *Index) SizeBytes() int64 {
	return int64(unsafe.Sizeof(*ix)) + int64(8*cap(ix.terms)+4*cap(ix.ends)+4*cap(ix.lengths)+cap(ix.postings))
}
