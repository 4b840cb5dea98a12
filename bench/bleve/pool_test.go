package bleve

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	index "github.com/blevesearch/bleve_index_api"

	"rlmproxy/bench/quality"
	"rlmproxy/search"
)

var pool = flag.Int("pool", 0, "print what stands among the first `n` of a ranking and is not judged")

// TestPool prints what somebody has to judge: hits that no place covers, each
// once, with the line that holds most words of the question. The rankings do
// not show.
func TestPool(t *testing.T) {
	if *pool == 0 {
		t.Skip("go test . -run TestPool -v -pool 10 prints hits that are not judged")
	}
	files, err := quality.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		var ranks []quality.Rank
		for _, r := range []func(*quality.File) (quality.Rank, error){quality.BM25, ranking(index.TFIDFScoring), ranking(index.BM25Scoring)} {
			rank, err := r(f)
			if err != nil {
				t.Fatal(err)
			}
			ranks = append(ranks, rank)
		}
		fmt.Printf("\n### %s\n", f.Name)
		for _, q := range f.Questions {
			fmt.Printf("\n%s: %s\n", q.Kind, q.Text)
			var hits []search.Span
			for _, rank := range ranks {
				hits = append(hits, rank(q.Text, *pool)...)
			}
			slices.SortFunc(hits, func(a, b search.Span) int { return cmp.Compare(a.Start, b.Start) })
			for _, h := range slices.Compact(hits) {
				if !q.Judged(h) {
					fmt.Println(best(f.Text, h, strings.Fields(strings.ToLower(q.Text))))
				}
			}
		}
	}
}

// best returns the line of h with most of the words, numbered.
func best(text []byte, h search.Span, words []string) string {
	number := 1 + bytes.Count(text[:h.Start], []byte("\n"))
	out, most := "", -1
	for i, line := range strings.Split(string(text[h.Start:h.End]), "\n") {
		held := 0
		for _, w := range words {
			if strings.Contains(strings.ToLower(line), w[:min(len(w), 5)]) {
				held++
			}
		}
		if held > most && strings.TrimSpace(line) != "" {
			line = strings.TrimSpace(line)
			out, most = fmt.Sprintf("%d %.*s", number+i, 150, line), held
		}
	}
	return out
}
