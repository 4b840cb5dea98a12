package bleve

import (
	"context"
	"slices"
	"testing"
	"time"

	index "github.com/blevesearch/bleve_index_api"

	"rlmproxy/bench/corpus"
	"rlmproxy/bench/quality"
	"rlmproxy/search"
)

// tenMB is the corpus up to 10 MB, largest files first, and its passages: JSON,
// TypeScript and some CSV.
func tenMB(tb testing.TB) ([]byte, []search.Span) {
	tb.Helper()
	var text []byte
	for _, f := range corpus.Files {
		b, err := corpus.Open(f.Name)
		if err != nil {
			tb.Fatal(err)
		}
		text = append(append(text, b...), '\n')
	}
	text = text[:10_000_000]
	return text, search.Passages(text)
}

// asked are the judged questions about files that tenMB holds.
func asked(tb testing.TB) []string {
	tb.Helper()
	files, err := quality.Load()
	if err != nil {
		tb.Fatal(err)
	}
	var queries []string
	for _, f := range files {
		if f.Name != "webhooks.json" && f.Name != "stripe.json" && f.Name != "ec2.d.ts" {
			continue
		}
		for _, q := range f.Questions {
			queries = append(queries, q.Text)
		}
	}
	return queries
}

// BenchmarkIndex builds the index of 10 MB. bleve uses all cores, ours one.
func BenchmarkIndex(b *testing.B) {
	text, passages := tenMB(b)
	b.SetBytes(int64(len(text)))
	turns(b, func() error {
		_, err := search.NewIndex(context.Background(), text, passages)
		return err
	}, func() error {
		ix, err := newIndex(text, passages, index.BM25Scoring)
		if err != nil {
			return err
		}
		return ix.Close()
	})
}

// BenchmarkQuery asks all questions of an index of 10 MB, for the best five.
func BenchmarkQuery(b *testing.B) {
	text, passages := tenMB(b)
	queries := asked(b)
	ours, err := search.NewIndex(context.Background(), text, passages)
	if err != nil {
		b.Fatal(err)
	}
	theirs, err := newIndex(text, passages, index.BM25Scoring)
	if err != nil {
		b.Fatal(err)
	}
	defer theirs.Close()
	turns(b, func() error {
		for _, q := range queries {
			ours.Search(q, 5)
		}
		return nil
	}, func() error {
		for _, q := range queries {
			if _, err := theirs.Search(request(q, 5)); err != nil {
				return err
			}
		}
		return nil
	})
	b.ReportMetric(float64(len(queries)), "queries")
}

// turns measures run, and base in turns with it, and reports the median of run
// and its ratio to that of base. It is that of package bench, which has no code
// outside of tests.
func turns(b *testing.B, run, base func() error) {
	b.Helper()
	timed := func(f func() error) time.Duration {
		begun := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		return time.Since(begun)
	}
	timed(base)
	timed(run)
	b.ReportAllocs()
	var runs, bases []time.Duration
	var ran, based time.Duration
	for b.Loop() {
		// A base that is much the slower one gets fewer turns.
		if based <= ran {
			b.StopTimer()
			d := timed(base)
			bases, based = append(bases, d), based+d
			b.StartTimer()
		}
		d := timed(run)
		runs, ran = append(runs, d), ran+d
	}
	b.ReportMetric(float64(median(runs)), "p50-ns")
	b.ReportMetric(float64(median(bases)), "bleve-p50-ns")
	b.ReportMetric(float64(median(runs))/float64(median(bases)), "x-yardstick")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
