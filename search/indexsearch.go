package search

import (
	"cmp"
	"slices"
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
	q := rankedQuery{ix: ix, best: ranked{limit: min(topK, len(ix.passages))}}
	q.find(queryTokens(query))
	for q.window() {
	}
	q.best.trim()
	hits := make([]Hit, 0, len(q.best.found))
	for _, f := range q.best.found {
		hits = append(hits, Hit{Span: ix.passages[f.passage], Line: int(ix.lines[f.passage]), Score: f.score})
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

// ranked keeps the best passages of those that are added in ascending order.
type ranked struct {
	limit int
	least float64 // a score over this is among the best so far
	found []rankedPassage
}

type rankedPassage struct {
	passage int
	score   float64
}

// add adds a passage with a score over least.
func (r *ranked) add(passage int, score float64) {
	r.found = append(r.found, rankedPassage{passage, score})
	if len(r.found) >= 2*r.limit+16 {
		r.settle()
	}
}

// settle sets least if enough passages are found.
func (r *ranked) settle() {
	if len(r.found) > r.limit || len(r.found) == r.limit && r.least == 0 {
		r.trim()
		r.least = r.found[r.limit-1].score
	}
}

// trim sorts the passages and leaves the best. Of equal ones, the first is best:
// one that comes later cannot displace it.
func (r *ranked) trim() {
	slices.SortFunc(r.found, func(a, b rankedPassage) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.passage, b.passage))
	})
	r.found = r.found[:min(len(r.found), r.limit)]
}

// worth is what a term adds to the score of a passage of so many tokens that has
// it freq times.
func (ix *Index) worth(idf float64, freq int, length uint32) float64 {
	tf := float64(freq)
	norm := bm25K1 * (1 - bm25B + bm25B*float64(length)/ix.average)
	return idf * tf / (tf + norm)
}
