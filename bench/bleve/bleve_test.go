package bleve

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	"rlmproxy/bench/quality"
	"rlmproxy/search"
)

var update = flag.Bool("update", false, "rewrite the golden file")

const golden = "testdata/bleve.golden"

// TestQuality fails if bleve answers better than package search, and compares
// all figures with the golden file.
func TestQuality(t *testing.T) {
	files, err := quality.Load()
	if err != nil {
		t.Fatal(err)
	}
	measure := func(name string, ranking func(*quality.File) (quality.Rank, error)) quality.Run {
		run, err := quality.Measure(name, files, ranking)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return run
	}
	ours := measure("ours", quality.BM25)
	tfidf := measure("bleve tf-idf", ranking(index.TFIDFScoring))
	bm25 := measure("bleve bm25", ranking(index.BM25Scoring))
	for _, theirs := range []quality.Run{tfidf, bm25} {
		if ours.Mean().NDCG < theirs.Mean().NDCG {
			t.Errorf("nDCG@10: ours %.4f, %s %.4f", ours.Mean().NDCG, theirs.Name, theirs.Mean().NDCG)
		}
	}
	got := quality.Table(files, ours, tfidf, bm25)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v\ngo test . -update writes it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if that is meant: go test . -update\ngot:\n%s\nwant:\n%s", golden, got, want)
	}
}

// ranking is bleve's, by one of its ways to score. Its indexes live in memory
// and end with the process.
func ranking(scoring string) func(*quality.File) (quality.Rank, error) {
	return func(f *quality.File) (quality.Rank, error) {
		ix, err := newIndex(f.Text, f.Units, scoring)
		if err != nil {
			return nil, err
		}
		return func(query string, n int) []search.Span {
			numbers, err := find(ix, query, n)
			if err != nil {
				panic(fmt.Sprintf("%s: %q: %v", f.Name, query, err))
			}
			var spans []search.Span
			for _, i := range numbers {
				spans = append(spans, f.Units[i])
			}
			return spans
		}, nil
	}
}

// newIndex indexes units of text in one batch. Texts are not stored, nor are
// positions kept: nothing that the ranking does not read.
func newIndex(text []byte, units []search.Span, scoring string) (bleve.Index, error) {
	field := bleve.NewTextFieldMapping()
	field.Analyzer = en.AnalyzerName
	field.Store, field.DocValues, field.IncludeTermVectors, field.IncludeInAll = false, false, false, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("text", field)
	m := bleve.NewIndexMapping()
	m.DefaultMapping, m.DefaultField, m.DefaultAnalyzer, m.ScoringModel = doc, "text", en.AnalyzerName, scoring
	ix, err := bleve.NewUsing("", m, scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, err
	}
	batch := ix.NewBatch()
	for i, u := range units {
		if err := batch.Index(fmt.Sprintf("%09d", i), map[string]any{"text": string(text[u.Start:u.End])}); err != nil {
			return nil, err
		}
	}
	return ix, ix.Batch(batch)
}

// find returns the numbers of at most n units, best first, ties in document
// order: a batch numbers its documents in the order of a map.
func find(ix bleve.Index, query string, n int) ([]int, error) {
	req := request(query, n)
	req.SortBy([]string{"-_score", "_id"})
	res, err := ix.Search(req)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, h := range res.Hits {
		i, err := strconv.Atoi(h.ID)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, i)
	}
	return numbers, nil
}

// request asks for any of query's words.
func request(query string, n int) *bleve.SearchRequest {
	q := bleve.NewMatchQuery(query)
	q.SetField("text")
	return bleve.NewSearchRequestOptions(q, n, 0, false)
}
