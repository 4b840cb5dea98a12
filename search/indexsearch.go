package search

import (
	"cmp"
	"math"
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

	// Scores are summed up for so many passages at a time: 16 KB of them,
	// which stay in the nearest cache.
	scoreWindow = 2048
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
	var terms []queryTerm
	for _, t := range queryTokens(query) {
		if id, ok := ix.terms.find([]byte(t)); ok {
			terms = append(terms, ix.queryTerm(id))
		}
	}
	best := ranked{limit: min(topK, len(ix.passages))}
	var scores [scoreWindow]float64
	for {
		from := len(ix.passages)
		for i := range terms {
			from = min(from, terms[i].passage)
		}
		if from == len(ix.passages) {
			break
		}
		for i := range terms {
			terms[i].score(ix, from, &scores)
		}
		for i, score := range scores {
			if score > best.least {
				best.add(from+i, score)
			}
		}
		clear(scores[:])
	}
	best.trim()
	hits := make([]Hit, 0, len(best.found))
	for _, f := range best.found {
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

// A queryTerm stands at the first passage of a term that is not scored yet, or
// behind the last of the index.
type queryTerm struct {
	postingCursor
	idf float64
	// What the term is worth to a passage that has it once, by the passage's
	// length; nil for a term of few passages.
	once *[onceLengths]float64
}

const (
	onceLengths = 256
	// A term of so many passages asks for a length more than once.
	onceHolders = 4 * onceLengths
)

func (ix *Index) queryTerm(id uint32) queryTerm {
	t := queryTerm{postingCursor: ix.postings.cursor(id)}
	holders := float64(t.holders)
	t.idf = math.Log(1 + (float64(len(ix.passages))-holders+0.5)/(holders+0.5))
	if t.holders >= onceHolders {
		t.once = new([onceLengths]float64)
		for n := range t.once {
			t.once[n] = ix.worth(t.idf, 1, uint32(n))
		}
	}
	t.next()
	return t
}

// worth is what a term adds to the score of a passage of so many tokens that has
// it freq times.
func (ix *Index) worth(idf float64, freq int, length uint32) float64 {
	tf := float64(freq)
	norm := bm25K1 * (1 - bm25B + bm25B*float64(length)/ix.average)
	return idf * tf / (tf + norm)
}

// score adds what the term is worth to each passage that has it, as far as scores
// reach, which begin at passage from.
func (t *queryTerm) score(ix *Index, from int, scores *[scoreWindow]float64) {
	lengths := ix.lengths[from:min(from+scoreWindow, len(ix.lengths))]
	c, once := t.postingCursor, t.once
	at, list := c.passage-from, c.rest
	for uint(at) < uint(len(lengths)) {
		n := lengths[at]
		if c.freq == 1 && n < onceLengths && once != nil {
			scores[at&(scoreWindow-1)] += once[n]
		} else {
			scores[at&(scoreWindow-1)] += ix.worth(t.idf, c.freq, n)
		}
		// Most postings of a common term are one byte.
		if len(list) > 0 && list[0]&0x81 == 0 {
			at += int(list[0] >> 1)
			list, c.freq = list[1:], 1
			continue
		}
		c.passage, c.rest = from+at, list
		if !c.next() {
			c.passage = len(ix.passages)
		}
		at, list = c.passage-from, c.rest
	}
	c.passage, c.rest = from+at, list
	t.postingCursor = c
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
