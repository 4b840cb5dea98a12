// Package quality says how well a ranking answers questions about tool results.
//
//	corpus file ─► File: text, units ─┬─► Rank ─► hits ─► nDCG@10, recall@5
//	judged/*.txt ─► questions, places ─┘
//
// A place is a range of lines or a JSON path, chosen by reading the file, with a
// grade. Units are what is ranked: passages of a text, records of JSON. Hits
// are held against places by the bytes that they share, so that other units
// can be measured with the same judgements. README.md says who judged, and how.
package quality

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"rlmproxy/bench/corpus"
	"rlmproxy/search"
)

//go:embed judged/*.txt
var judged embed.FS

// A File is a document of the corpus and what is asked of it.
type File struct {
	Name      string
	Text      []byte        // JSON is indented by two blanks, as proxy_search numbers its lines
	Units     []search.Span // of Text, in order
	Questions []Question

	lines  *search.LineTable
	inside map[search.Span][]search.Span // JSON values, by what they stand in
}

// A Question is what an agent would give to proxy_search with mode bm25.
type Question struct {
	Kind   string // "question", "keywords", "name", "inflected" or "script"
	Text   string
	Places []Place
}

// A Place is where a question is answered.
type Place struct {
	Spans []search.Span // any of them
	Grade int           // 2 answers it, 1 helps
}

// Load returns the judged files of the corpus, in its order. It fails if a
// judgement names a place that is not there, or not what it says.
func Load() ([]*File, error) {
	var files []*File
	for _, c := range corpus.Files {
		list, err := judged.ReadFile("judged/" + c.Name + ".txt")
		if err != nil {
			continue
		}
		f, err := open(c.Name)
		if err != nil {
			return nil, err
		}
		if err := f.judge(string(list)); err != nil {
			return nil, fmt.Errorf("judged/%s.txt: %w", c.Name, err)
		}
		files = append(files, f)
	}
	return files, nil
}

// open reads a file without its questions.
func open(name string) (*File, error) {
	data, err := corpus.Open(name)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, Text: data, inside: map[search.Span][]search.Span{}}
	if strings.HasSuffix(name, ".json") {
		var b bytes.Buffer
		if err := json.Indent(&b, data, "", "  "); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f.Text = b.Bytes()
	}
	f.lines = search.NewLineTable(f.Text)
	return f, nil
}

// divide makes the units: passages, or what is in the array at path.
func (f *File) divide(path string) error {
	if path == "" {
		f.Units = search.Passages(f.Text)
		return nil
	}
	if strings.HasSuffix(f.Name, ".jsonl") {
		f.Units = values(f.Text, 0)
		return nil
	}
	list, err := f.at(path)
	if err != nil {
		return err
	}
	f.Units = values(f.Text[:list.End-1], list.Start+1)
	return nil
}

// A Rank returns at most n spans of a file's text, best first.
type Rank func(query string, n int) []search.Span

// BM25 is the ranking of package search over the units of f.
func BM25(f *File) (Rank, error) {
	ix, err := search.NewIndex(context.Background(), f.Text, f.Units)
	if err != nil {
		return nil, err
	}
	return func(query string, n int) []search.Span {
		var spans []search.Span
		for _, h := range ix.Search(query, n) {
			spans = append(spans, f.Units[h.Passage])
		}
		return spans
	}, nil
}
