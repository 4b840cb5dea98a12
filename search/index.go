package search

import (
	"context"
	"fmt"
	"slices"
	"unsafe"
)

// An Index ranks the passages of one text. It takes a third of the size of source
// code, half of that of a log, and twice that of a table of numbers of which none
// comes again. It does not refer to the text and is safe for concurrent use.
type Index struct {
	passages []Span
	lines    []uint32 // of each passage's start
	lengths  []uint32 // of each passage, in tokens
	average  float64  // of lengths

	terms    termSet // all distinct tokens
	postings termPostings
}

// NewIndex reads text and counts the tokens of its passages: those of
// [Passages], or the caller's own, for instance one for each JSON record.
// It copies passages. A passage outside of text is an error, and so is a ctx
// that ends before the index is complete.
func NewIndex(ctx context.Context, text []byte, passages []Span) (*Index, error) {
	build := newIndexBuild(ctx, text)
	ix := &Index{
		passages: slices.Clone(passages),
		lines:    make([]uint32, len(passages)),
		lengths:  make([]uint32, len(passages)),
	}
	lines := lineCounter{text: text}
	for i, p := range passages {
		if p != p.clamp(len(text)) {
			return nil, fmt.Errorf("passage %d: [%d,%d) is not in a text of %d bytes", i, p.Start, p.End, len(text))
		}
		before := len(build.tokens)
		if err := build.passage(p); err != nil {
			return nil, err
		}
		ix.lines[i] = uint32(lines.line(p.Start))
		ix.lengths[i] = uint32(len(build.tokens) - before)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ix.average = max(1, float64(len(build.tokens))) / float64(max(1, len(passages)))
	ix.postings = newPostings(build.tokens, ix.lengths, build.terms.len(), func(freq, length uint32) float64 {
		return ix.worth(1, int(freq), length)
	})
	ix.terms = build.terms.complete()
	return ix, nil
}

// SizeBytes returns the memory that the index holds.
func (ix *Index) SizeBytes() int64 {
	n := int(unsafe.Sizeof(*ix)) + ix.terms.sizeBytes() + ix.postings.sizeBytes()
	n += 16*cap(ix.passages) + 4*(cap(ix.lines)+cap(ix.lengths))
	return int64(n)
}
