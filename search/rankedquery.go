package search

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

const (
	// Scores are summed up for so many passages at a time: 16 KB of them,
	// which stay in the nearest cache.
	scoreWindow = 2048
	// A common term asks for most lengths more than once.
	onceLengths = commonHolders / 4
	// seekCost is about how many postings are scored one after another in the
	// time that it takes to seek one.
	seekCost = 16
)

// A rankedQuery reads the postings of its terms in windows of passages.
//
// When topK passages are found, those that have nothing but common terms may be
// worth too little, whichever they are. Then the passages of the rarer terms are
// read, and of the common ones only what they are worth to these (MaxScore;
// Turtle and Flood, Information Processing & Management 31(6), 1995).
type rankedQuery struct {
	ix     *Index
	terms  []queryTerm // the rarest first
	read   int         // of terms, of which all passages are read
	best   ranked
	scores [scoreWindow]float64 // of a window; 0 between two
	// The scores that terms which are not common added to, and whether
	// others did.
	marks [scoreWindow / 64]uint64
	dense bool
}

// A queryTerm stands at the first passage of a term that is not scored yet, or
// behind the last of the index.
type queryTerm struct {
	postingCursor
	idf float64
	// No passage gets more from this term and those after it.
	most float64
	// What the term is worth to a passage that has it once, by the passage's
	// length; nil for a term of few passages.
	once *[onceLengths]float64
}

// find takes the terms of a query that the index has.
func (q *rankedQuery) find(tokens []string) {
	for _, t := range tokens {
		if id, ok := q.ix.terms.find([]byte(t)); ok {
			q.terms = append(q.terms, q.ix.queryTerm(id))
		}
	}
	slices.SortStableFunc(q.terms, func(a, b queryTerm) int { return cmp.Compare(a.holders, b.holders) })
	most := 0.0
	for i := len(q.terms) - 1; i >= 0; i-- {
		t := &q.terms[i]
		most += t.most
		t.most = most * (1 + 1e-9) // sums are rounded
	}
	q.read = len(q.terms)
}

func (ix *Index) queryTerm(id uint32) queryTerm {
	t := queryTerm{postingCursor: ix.postings.cursor(id)}
	holders := float64(t.holders)
	t.idf = math.Log(1 + (float64(len(ix.passages))-holders+0.5)/(holders+0.5))
	t.most = t.idf
	if t.commonTerm != nil {
		t.most *= t.commonTerm.most
		t.once = new([onceLengths]float64)
		for n := range t.once {
			t.once[n] = ix.worth(t.idf, 1, uint32(n))
		}
	}
	t.next()
	return t
}

// window scores the next passages and reports whether there were any.
func (q *rankedQuery) window() bool {
	end := len(q.ix.passages)
	from := end
	for i := range q.read {
		from = min(from, q.terms[i].passage)
	}
	if from == end {
		return false
	}
	for i := range q.read {
		q.score(&q.terms[i], from)
	}
	next := q.read
	least := q.best.least
	for ; next < len(q.terms); next++ {
		t := &q.terms[next]
		least = max(0, q.best.least-t.most)
		if seekCost*q.over(least) < t.holders*scoreWindow/end {
			break
		}
		if t.seek(from) {
			q.score(t, from)
		}
		least = q.best.least
	}
	q.rank(from, least, next)
	q.best.settle()
	for q.read > 0 && q.terms[q.read-1].most <= q.best.least {
		q.read--
	}
	return true
}

// rank completes the scores over least and sets all to 0.
func (q *rankedQuery) rank(from int, least float64, next int) {
	if !q.dense {
		for i, word := range q.marks {
			for ; word != 0; word &= word - 1 {
				at := 64*i + bits.TrailingZeros64(word)
				if score := q.scores[at]; score > least {
					q.complete(from+at, score, next)
				}
				q.scores[at] = 0
			}
		}
	} else {
		for i, score := range q.scores {
			if score > least {
				q.complete(from+i, score, next)
			}
		}
		clear(q.scores[:])
	}
	clear(q.marks[:])
	q.dense = false
}

// over counts the scores over least, or some more. It does not branch: there is
// no telling which they are.
func (q *rankedQuery) over(least float64) int {
	n := 0
	if !q.dense {
		for _, word := range q.marks {
			n += bits.OnesCount64(word)
		}
		return n
	}
	// Floats that are not negative compare like their bits.
	limit := math.Float64bits(least)
	for i := range q.scores {
		n += int((limit - math.Float64bits(q.scores[i])) >> 63)
	}
	return n
}

// complete adds what the terms from next on are worth to a passage.
func (q *rankedQuery) complete(passage int, score float64, next int) {
	for i := next; i < len(q.terms); i++ {
		t := &q.terms[i]
		if score+t.most <= q.best.least {
			return
		}
		if t.seek(passage) && t.passage == passage {
			score += q.ix.worth(t.idf, t.freq, q.ix.lengths[passage])
		}
	}
	if score > q.best.least {
		q.best.add(passage, score)
	}
}

// score adds what a term is worth to each passage that has it, as far as scores
// reach, which begin at passage from.
func (q *rankedQuery) score(t *queryTerm, from int) {
	lengths := q.ix.lengths[from:min(from+scoreWindow, len(q.ix.lengths))]
	c, once := t.postingCursor, t.once
	if once != nil {
		q.dense = true
	}
	at, list := c.passage-from, c.rest
	for uint(at) < uint(len(lengths)) {
		n, slot := lengths[at], at&(scoreWindow-1)
		if c.freq == 1 && n < onceLengths && once != nil {
			q.scores[slot] += once[n]
		} else {
			q.scores[slot] += q.ix.worth(t.idf, c.freq, n)
		}
		if once == nil {
			q.marks[slot/64] |= 1 << (slot % 64)
		}
		// Most postings of a common term are one byte.
		if len(list) > 0 && list[0]&0x81 == 0 {
			at += int(list[0] >> 1)
			list, c.freq = list[1:], 1
			continue
		}
		c.passage, c.rest = from+at, list
		if !c.next() {
			c.passage = len(q.ix.passages)
		}
		at, list = c.passage-from, c.rest
	}
	c.passage, c.rest = from+at, list
	t.postingCursor = c
}
