package search

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// slowSearch is Search without an index.
func slowSearch(text []byte, passages []Span, query string, topK int) []Ranked {
	counts := make([]map[string]int, len(passages))
	lengths := make([]int, len(passages))
	holders := map[string]int{}
	total := 0
	for i, p := range passages {
		counts[i] = map[string]int{}
		for _, t := range tokenize(text[p.Start:p.End]) {
			if counts[i][t]++; counts[i][t] == 1 {
				holders[t]++
			}
			lengths[i]++
			total++
		}
	}
	times := map[string]float64{} // in the query
	for _, t := range queryTokens(query) {
		times[t]++
	}
	tokens := slices.Sorted(maps.Keys(times))
	average := max(1, float64(total)) / float64(max(1, len(passages)))
	var hits []Ranked
	for i := range passages {
		score := 0.0
		for _, t := range tokens {
			if tf := float64(counts[i][t]); tf > 0 {
				n, df := float64(len(passages)), float64(holders[t])
				idf := times[t] * math.Log(1+(n-df+0.5)/(df+0.5))
				norm := bm25K1 * (1 - bm25B + bm25B*float64(lengths[i])/average)
				score += idf * tf / (tf + norm)
			}
		}
		if score > 0 {
			hits = append(hits, Ranked{i, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(len(hits), topK)]
}

// TestSearchAgrees compares passages and scores to the last bit, in texts
// of few passages and of many.
func TestSearchAgrees(t *testing.T) {
	words := strings.Fields("a the x x x x z z z running ran getUserName a.go 2024-01-02 日本語 y y y y y y")
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var text []byte
		var passages []Span
		lines := rapid.OneOf(rapid.IntRange(0, 60), rapid.IntRange(1, 4000)).Draw(t, "lines")
		gap := rapid.SampledFrom([]int{1, 1, 1000}).Draw(t, "gap")
		for range lines {
			start := len(text)
			if rnd.IntN(gap) == 0 {
				for range rnd.IntN(4) {
					text = fmt.Append(text, words[rnd.IntN(len(words))], " ")
				}
				if rnd.IntN(200) == 0 {
					text = append(text, strings.Repeat("x ", rnd.IntN(400))...)
				}
			}
			passages = append(passages, Span{start, len(text)})
			text = append(text, '\n')
		}
		ix, err := NewIndex(t.Context(), text, passages)
		if err != nil {
			t.Fatal(err)
		}
		query := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 5).Draw(t, "query"), " ")
		topK := rapid.SampledFrom([]int{1, 2, 5, 40, math.MaxInt}).Draw(t, "topK")
		want := append([]Ranked(nil), slowSearch(text, passages, query, topK)...)
		if d := gocmp.Diff(want, ix.Search(query, topK)); d != "" {
			t.Fatalf("%q, best %d of %d: (-want +got)\n%s", query, topK, lines, d)
		}
	})
}
