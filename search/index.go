package search

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Lucene's defaults. On the Cranfield and CISI collections, with stems and
// stop words, they gave nDCG@10 .385 and .384.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

const (
	defaultTopK = 5

	// A query of more than this is a document; its first words will do.
	maxQueryBytes = 4096
)

// An Index ranks the passages of one text. It takes about half of
// the text's size, does not refer to the text, and is safe for concurrent use.
type Index struct {
	passages []Span
	lines    []uint32 // of each passage's start
	lengths  []uint32 // of each passage, in tokens
	average  float64  // of lengths

	terms    termTable // all distinct tokens
	postings []byte    // per term: passages ascending, as varint (gap, frequency)
	postEnds []uint32  // where each term's end
}

// Search returns at most topK passages, best first; ties are in document
// order. Zero means 5. Scores are BM25 with k1 1.2, b 0.75 and Lucene's
// idf; lengths are tokens from [Tokenize]. The idf covers this text only, so
// scores from two indexes do not compare.
//
// Stop words count only in a query of nothing else. There are no hits for a
// query without words. Its first 4096 bytes are read.
func (ix *Index) Search(query string, topK int) []Hit {
	if topK <= 0 {
		topK = defaultTopK
	}
	scores := make([]float64, len(ix.passages))
	for _, t := range queryTokens(query) {
		if id, ok := ix.terms.find([]byte(t)); ok {
			ix.score(id, scores)
		}
	}
	var found []int
	for i, score := range scores {
		if score > 0 {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(i, j int) int {
		return cmp.Or(cmp.Compare(scores[j], scores[i]), cmp.Compare(i, j))
	})
	hits := make([]Hit, 0, min(topK, len(found)))
	for _, i := range found[:min(topK, len(found))] {
		hits = append(hits, Hit{Span: ix.passages[i], Line: int(ix.lines[i]), Score: scores[i]})
	}
	return hits
}

// queryTokens returns the distinct tokens that query is about, sorted so
// that sums of scores do not depend on the order of words.
func queryTokens(query string) []string {
	if len(query) > maxQueryBytes {
		query = query[:maxQueryBytes]
	}
	all := Tokenize(query)
	tokens := make([]string, 0, len(all))
	for _, t := range all {
		if !stopWords[t] {
			tokens = append(tokens, t)
		}
	}
	if len(tokens) == 0 {
		tokens = all
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// score adds what a term is worth to the passages that hold it.
func (ix *Index) score(term uint32, scores []float64) {
	start := uint32(0)
	if term > 0 {
		start = ix.postEnds[term-1]
	}
	list := ix.postings[start:ix.postEnds[term]]
	holders := 0.0
	for rest := list; len(rest) > 0; holders++ {
		_, _, rest = nextPosting(rest)
	}
	idf := math.Log(1 + (float64(len(ix.passages))-holders+0.5)/(holders+0.5))
	passage := 0
	for len(list) > 0 {
		var gap, freq uint64
		gap, freq, list = nextPosting(list)
		passage += int(gap)
		tf := float64(freq)
		norm := bm25K1 * (1 - bm25B + bm25B*float64(ix.lengths[passage])/ix.average)
		scores[passage] += idf * tf / (tf + norm)
	}
}

func nextPosting(list []byte) (gap, freq uint64, rest []byte) {
	gap, n := binary.Uvarint(list)
	freq, m := binary.Uvarint(list[n:])
	return gap, freq, list[n+m:]
}

// SizeBytes returns the memory that the index holds.
func (ix *Index) SizeBytes() int64 {
	n := int(unsafe.Sizeof(*ix)) + ix.terms.sizeBytes() + cap(ix.postings) + 16*cap(ix.passages)
	n += 4 * (cap(ix.lines) + cap(ix.lengths) + cap(ix.postEnds))
	return int64(n)
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
	total := 0
	for i, p := range passages {
		if p != p.clamp(len(text)) {
			return nil, fmt.Errorf("passage %d: [%d,%d) is not in a text of %d bytes", i, p.Start, p.End, len(text))
		}
		n, err := build.passage(uint32(i), p)
		if err != nil {
			return nil, err
		}
		ix.lines[i] = uint32(lines.line(p.Start))
		ix.lengths[i] = uint32(n)
		total += n
	}
	ix.average = max(1, float64(total)) / float64(max(1, len(passages)))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	build.finish(ix)
	return ix, nil
}
