package quality

import (
	"math"
	"slices"

	"rlmproxy/search"
)

const (
	depthNDCG   = 10
	depthRecall = 5
)

// A Score is how well one question was answered, each from 0 to 1.
type Score struct {
	NDCG   float64 // at 10
	Recall float64 // at 5, of the places of grade 2, or of any five if there are more
}

// score holds hits against the places of q.
//
// A hit covers a place if they share half of the bytes of the shorter. It is
// worth the best place that it covers and no earlier hit did, 3 for grade 2 and
// 1 for grade 1: a second hit in the same place is worth nothing. The ideal is
// one place a hit, best first.
func (q Question) score(hits []search.Span) Score {
	credited := make([]bool, len(q.Places))
	dcg, found := 0.0, 0
	for rank, h := range hits[:min(len(hits), depthNDCG)] {
		best := 0.0
		for i, p := range q.Places {
			if credited[i] || !p.covered(h) {
				continue
			}
			credited[i] = true
			best = max(best, gain(p))
			if p.Grade == 2 && rank < depthRecall {
				found++
			}
		}
		dcg += best / math.Log2(float64(rank)+2)
	}
	gains := make([]float64, len(q.Places))
	answers := 0
	for i, p := range q.Places {
		gains[i] = gain(p)
		if p.Grade == 2 {
			answers++
		}
	}
	slices.SortFunc(gains, func(a, b float64) int { return int(b - a) })
	ideal := 0.0
	for rank, g := range gains[:min(len(gains), depthNDCG)] {
		ideal += g / math.Log2(float64(rank)+2)
	}
	most := min(answers, depthRecall)
	return Score{NDCG: dcg / ideal, Recall: float64(min(found, most)) / float64(most)}
}

// Judged reports whether a hit covers a place of q.
func (q Question) Judged(hit search.Span) bool {
	for _, p := range q.Places {
		if p.covered(hit) {
			return true
		}
	}
	return false
}

func gain(p Place) float64 { return float64(int(1)<<p.Grade - 1) }

func (p Place) covered(hit search.Span) bool {
	for _, s := range p.Spans {
		shared := min(hit.End, s.End) - max(hit.Start, s.Start)
		if shared > 0 && 2*shared >= min(hit.Len(), s.Len()) {
			return true
		}
	}
	return false
}

// A Run is one ranking's scores, by file and question as Load returns them.
type Run struct {
	Name   string
	scores [][]Score
}

// Measure asks all questions of one ranking.
func Measure(name string, files []*File, ranking func(*File) (Rank, error)) (Run, error) {
	run := Run{Name: name}
	for _, f := range files {
		rank, err := ranking(f)
		if err != nil {
			return run, err
		}
		var scores []Score
		for _, q := range f.Questions {
			scores = append(scores, q.score(rank(q.Text, depthNDCG)))
		}
		run.scores = append(run.scores, scores)
	}
	return run, nil
}

// Mean is the mean score of all questions, each counting the same.
func (r Run) Mean() Score {
	var all []Score
	for _, scores := range r.scores {
		all = append(all, scores...)
	}
	return mean(all)
}

func mean(scores []Score) Score {
	var m Score
	for _, s := range scores {
		m.NDCG += s.NDCG
		m.Recall += s.Recall
	}
	n := float64(max(1, len(scores)))
	return Score{m.NDCG / n, m.Recall / n}
}
