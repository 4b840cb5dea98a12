package search

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// buildIndex makes an index with one passage for each line.
func buildIndex(t *testing.T, text string) *Index {
	t.Helper()
	var passages []Span
	table := NewLineTable([]byte(text))
	for n := range table.Len() {
		passages = append(passages, table.Span(n+1))
	}
	ix, err := NewIndex(t.Context(), []byte(text), passages)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// TestRecall asks for passages in other words than theirs: other endings,
// pieces of identifiers, other scripts.
func TestRecall(t *testing.T) {
	ix := buildIndex(t, strings.Join([]string{
		"The proxy evicts cached results when an agent exceeds its quota.",           // 1
		"Connections to upstream servers are retried with exponential backoff.",      // 2
		"func getUserName(id int) string { return users[id].name }",                  // 3
		"Regular expressions are matched line by line and never cross a newline.",    // 4
		"See middleware/oauth/token.go for how tokens are refreshed.",                // 5
		"max_response_tokens limits what one reply may carry.",                       // 6
		"搜索引擎会对中文文本建立索引。",                                                            // 7
		"The quick brown fox jumps over the lazy dog.",                               // 8
		"Released on 2024-01-31 as version 1.24.3, with security fixes.",             // 9
		"The upstream server answered with an error; the proxy answered with a cut.", // 10
	}, "\n"))
	tests := []struct {
		query string
		line  int // of the best passage
	}{
		{"evicting the caches", 1},
		{"retry connection", 2},
		{"user name", 3},
		{"getUserName", 3},
		{"does a regular expression match across newlines?", 4},
		{"token.go", 5},
		{"refresh", 5},
		{"maximum tokens of a response", 6},
		{"中文索引", 7},
		{"jumping foxes", 8},
		{"1.24.3", 9},
		{"error answers", 10},
		{"when", 1}, // a stop word alone
	}
	for _, tt := range tests {
		hits := ix.Search(tt.query, 3)
		if len(hits) == 0 || hits[0].Passage != tt.line-1 {
			t.Errorf("%q: %v, want line %d first", tt.query, hits, tt.line)
		}
	}
}

func TestSearchScores(t *testing.T) {
	ix := buildIndex(t, "apple banana\napple\napple apple cherry\ndate\n\napple")
	// Four of six passages have the term; lengths are 2 1 3 1 0 1.
	idf := math.Log(1 + (6-4+0.5)/(4+0.5))
	score := func(tf, length float64) float64 {
		return idf * tf / (tf + 1.2*(1-0.75+0.75*length/(8.0/6)))
	}
	want := []Ranked{{1, score(1, 1)}, {5, score(1, 1)}, {2, score(2, 3)}, {0, score(1, 2)}}
	if diff := cmp.Diff(want, ix.Search("apples", 10)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := len(ix.Search("apple", 2)); got != 2 {
		t.Errorf("topK 2: %d hits", got)
	}
	for _, query := range []string{"", "?!", "zebra", "\xff"} {
		if hits := ix.Search(query, 5); len(hits) != 0 {
			t.Errorf("%q: %v", query, hits)
		}
	}
}

func TestNewIndexErrors(t *testing.T) {
	text := []byte("some text")
	for _, p := range []Span{{-1, 2}, {3, 2}, {0, 10}} {
		if _, err := NewIndex(t.Context(), text, []Span{p}); err == nil {
			t.Errorf("%v: no error", p)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewIndex(ctx, text, Passages(text)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	ix, err := NewIndex(t.Context(), nil, nil)
	if err != nil || len(ix.Search("a", 1)) != 0 {
		t.Errorf("empty text: %v", err)
	}
}

// TestIndexEndsInAPassage: a text that is one passage does not outlive its context.
func TestIndexEndsInAPassage(t *testing.T) {
	text := []byte(strings.Repeat("word ", chunkBytes))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newTermReader(ctx, maphash.MakeSeed(), len(text))
	if err := r.passage(text); !errors.Is(err, context.Canceled) || len(r.read) > 2*chunkBytes/5 {
		t.Errorf("%d words read, error %v", len(r.read), err)
	}
}

func TestSearchConcurrently(t *testing.T) {
	ix := buildIndex(t, "one two\nthree four")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if hits := ix.Search("three", 1); len(hits) != 1 {
				t.Errorf("hits %v", hits)
			}
		})
	}
	wg.Wait()
	if ix.SizeBytes() <= 0 {
		t.Error("no size")
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("# A\n\nsome text\n\n北京 getUserName\xff"), "text")
	f.Fuzz(func(t *testing.T, text []byte, query string) {
		ix, err := NewIndex(t.Context(), text, Passages(text))
		if err != nil {
			t.Fatal(err)
		}
		last := math.Inf(1)
		for _, h := range ix.Search(query, 10) {
			if !(h.Score > 0 && h.Score <= last) {
				t.Fatalf("%q: %v", query, h)
			}
			last = h.Score
		}
		checkHighlights(t, text, Passages(text), ix, query, 3)
	})
}
