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
)

// A Ranked is a passage that a query found.
type Ranked struct {
	Passage int // its place in the passages that the index was made of
	Score   float64
}

// Search returns at most topK passages, best first; ties are in document
// order. Zero means 5. Scores are BM25 with k1 1.2, b 0.75 and Lucene's
// idf; lengths are in words. The idf covers this text only, so scores from two
// indexes do not compare.
//
// A word counts as often as it is in the query. Stop words count only in a query of
// nothing else. Nothing is found for a query without words. Its first 4096 bytes are read.
func (ix *Index) Search(query string, topK int) []Ranked {
	found, _ := ix.Rank(query, topK)
	return found
}

// Rank is [Index.Search], and how many passages have a word of the query.
func (ix *Index) Rank(query string, topK int) (found []Ranked, total int) {
	if topK <= 0 {
		topK = defaultTopK
	}
	scores := make([]float64, len(ix.lengths))
	for tokens := queryTokens(query); len(tokens) > 0; {
		token, times := tokens[0], 1
		for times < len(tokens) && tokens[times] == token {
			times++
		}
		tokens = tokens[times:]
		n := 0
		for range ix.holders(token) {
			n++
		}
		idf := float64(times) * math.Log(1+(float64(len(ix.lengths)-n)+0.5)/(float64(n)+0.5))
		for passage, freq := range ix.holders(token) {
			tf := float64(freq)
			norm := bm25K1 * (1 - bm25B + bm25B*float64(ix.lengths[passage])/ix.average)
			scores[passage] += idf * tf / (tf + norm)
		}
	}
	return best(scores, topK)
}

// queryTokens returns the tokens that query is about, sorted so that sums of scores do
// not depend on the order of words.
func queryTokens(query string) []string {
	all := tokenize([]byte(query[:min(len(query), maxQueryBytes)]))
	slices.Sort(all)
	tokens := slices.DeleteFunc(slices.Clone(all), func(t string) bool { return stopWords[t] })
	if len(tokens) == 0 {
		return all
	}
	return tokens
}

// best returns the topK passages with the highest scores over 0, and how many have one.
func best(scores []float64, topK int) (found []Ranked, total int) {
	worst := 0.0 // of topK passages; a later one must exceed it
	cut := func() {
		slices.SortFunc(found, func(a, b Ranked) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Passage, b.Passage))
		})
		found = found[:min(len(found), topK)]
	}
	for passage, score := range scores {
		if score > 0 {
			total++
		}
		if score <= worst {
			continue
		}
		found = append(found, Ranked{passage, score})
		if len(found) > 256 && len(found)/2 > topK {
			cut()
			worst = found[topK-1].Score
		}
	}
	cut()
	return found, total
}
