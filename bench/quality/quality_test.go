package quality

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"rlmproxy/bench/corpus"
	"rlmproxy/pipeline"
	"rlmproxy/search"
)

var update = flag.Bool("update", false, "rewrite the golden file")

const golden = "testdata/quality.golden"

// TestQuality compares with the golden file, so that a change of ranking is a
// reviewed diff.
func TestQuality(t *testing.T) {
	files, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	var runs []Run
	for _, r := range []struct {
		name    string
		ranking func(*File) (Rank, error)
	}{
		{"bm25", BM25},
		{"reply", replies},
		{"words", words},
	} {
		run, err := Measure(r.name, files, r.ranking)
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		runs = append(runs, run)
	}
	got := append(Table(files, runs...), "\nnDCG@10 by question\n"...)
	got = append(got, Questions(files, runs...)...)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v\ngo test ./bench/quality -update writes it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if that is meant: go test ./bench/quality -update\n%s", golden, changed(want, got))
	}
}

// changed returns the lines of got that are not in want.
func changed(want, got []byte) []byte {
	old := bytes.Split(want, []byte("\n"))
	var out [][]byte
	for line := range bytes.SplitSeq(got, []byte("\n")) {
		if !slices.ContainsFunc(old, func(o []byte) bool { return bytes.Equal(o, line) }) {
			out = append(out, line)
		}
	}
	return bytes.Join(out, []byte("\n"))
}

var (
	lineHead = regexp.MustCompile(`^lines? (\d+)(?:–(\d+))? \(score `)
	pathHead = regexp.MustCompile(`^(\.?[\w\[].*?)(?:, [\d,]+ of [\d,]+ bytes)? \(score -?[\d.]+\)(?:, [\d,]+ bytes)?:(?: |$)`)
)

// replies ranks what proxy_search prints: whatever the pipeline takes for a
// passage or record, by the lines or the path that it names.
func replies(f *File) (Rank, error) {
	data, err := corpus.Open(f.Name)
	if err != nil {
		return nil, err
	}
	doc := pipeline.Recognise(data, nil)
	kept := map[string]any{}
	doc.Memo = func(key string, build func() (any, int64, error)) (any, error) {
		if a, ok := kept[key]; ok {
			return a, nil
		}
		a, _, err := build()
		kept[key] = a
		return a, err
	}
	return func(query string, n int) []search.Span {
		s := &pipeline.Search{Mode: "bm25", Pattern: query, TopK: n}
		v, err := s.Apply(context.Background(), doc)
		if err != nil {
			panic(fmt.Sprintf("%s: %q: %v", f.Name, query, err))
		}
		var spans []search.Span
		for _, line := range strings.Split(string(v.Data), "\n") {
			place := ""
			if m := lineHead.FindStringSubmatch(line); m != nil {
				place = m[1] + "-" + cmp.Or(m[2], m[1])
			} else if m := pathHead.FindStringSubmatch(line); m != nil {
				place = strings.TrimPrefix(m[1], "top level")
				if keys := someKeys(line[len(m[0]):]); keys != nil {
					from, err := f.At(place + keys[0])
					if err != nil {
						panic(fmt.Sprintf("%s: %q: reply: %v", f.Name, query, err))
					}
					to, err := f.At(place + keys[len(keys)-1])
					if err != nil {
						panic(fmt.Sprintf("%s: %q: reply: %v", f.Name, query, err))
					}
					spans = append(spans, search.Span{Start: from.Start, End: to.End})
					continue
				}
			} else {
				continue
			}
			span, err := f.At(place)
			if err != nil {
				panic(fmt.Sprintf("%s: %q: reply: %v", f.Name, query, err))
			}
			spans = append(spans, span)
		}
		return spans
	}, nil
}

// someKeys returns the keys, as steps of a path, of an object of which a reply
// shows some members, "…" standing for the others. It is nil for anything else.
func someKeys(value string) []string {
	some := strings.HasPrefix(value, "{…,") || strings.HasSuffix(value, ",…}")
	value = strings.Replace(value, "{…,", "{", 1)
	value, _ = strings.CutSuffix(value, ",…}")
	if !some {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(strings.TrimSuffix(value, "}") + "}"))
	var keys []string
	if _, err := d.Token(); err != nil {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		var skipped json.RawMessage
		if err != nil || !ok || d.Decode(&skipped) != nil {
			return keys
		}
		quoted, _ := json.Marshal(name)
		keys = append(keys, "["+string(quoted)+"]")
	}
	return keys
}

// words ranks units by how many words of the query they hold anywhere, as
// grep -c would be used. Ties are in document order.
func words(f *File) (Rank, error) {
	text := bytes.ToLower(f.Text)
	if len(text) != len(f.Text) {
		text = f.Text // a letter with a longer small one; spans would not fit
	}
	return func(query string, n int) []search.Span {
		var few [][]byte
		for _, w := range strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
			few = append(few, []byte(w))
		}
		held := make([]int, len(f.Units))
		var order []int
		for i, u := range f.Units {
			for _, w := range few {
				if bytes.Contains(text[u.Start:u.End], w) {
					held[i]++
				}
			}
			if held[i] > 0 {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(i, j int) int { return held[j] - held[i] })
		var spans []search.Span
		for _, i := range order[:min(n, len(order))] {
			spans = append(spans, f.Units[i])
		}
		return spans
	}, nil
}

func TestScore(t *testing.T) {
	span := func(start, end int) search.Span { return search.Span{Start: start, End: end} }
	q := Question{Places: []Place{{[]search.Span{span(0, 10), span(500, 510)}, 2}, {[]search.Span{span(100, 200)}, 1}}}
	for _, tt := range []struct {
		name         string
		hits         []search.Span
		ndcg, recall float64
	}{
		{"nothing", nil, 0, 0},
		{"ideal", []search.Span{span(0, 10), span(100, 200)}, 1, 1},
		{"half of the shorter", []search.Span{span(5, 100), span(150, 160)}, 1, 1},
		{"either end of a place, once", []search.Span{span(500, 510), span(0, 10), span(100, 200)}, (3 + 1/2.0) / (3 + 1/1.584962500721156), 1},
		{"under half", []search.Span{span(6, 100), span(51, 101)}, 0, 0},
		{"the same place twice", []search.Span{span(0, 5), span(5, 10), span(100, 200)}, (3 + 1/2.0) / (3 + 1/1.584962500721156), 1},
		{"both at once count as the better", []search.Span{span(0, 300)}, 3 / (3 + 1/1.584962500721156), 1},
		{"beyond five", []search.Span{span(300, 301), span(300, 301), span(300, 301), span(300, 301), span(300, 301), span(0, 10)}, 3 / 2.807354922057604 / (3 + 1/1.584962500721156), 0},
	} {
		got := q.score(tt.hits)
		if diff := got.NDCG - tt.ndcg; diff > 1e-9 || diff < -1e-9 || got.Recall != tt.recall {
			t.Errorf("%s: %+v, want %v %v", tt.name, got, tt.ndcg, tt.recall)
		}
	}
}

func TestAt(t *testing.T) {
	text := "{\n  \"a b\": [\n    1,\n    {\n      \"c\": \"]\\\"}\"\n    }\n  ],\n  \"d\": {}\n}"
	f := &File{Name: "x.json", Text: []byte(text), lines: search.NewLineTable([]byte(text)), inside: map[search.Span][]search.Span{}}
	for _, tt := range []struct{ place, want string }{
		{`["a b"][0]`, "1"},
		{`["a b"][1].c`, `"]\"}"`},
		{`.["a b"][1].c`, `"]\"}"`},
		{".d", "{}"},
		{".", text},
		{".e", ""},
		{`["a b"][2]`, ""},
		{"8", `  "d": {}`},
		{"1-2", "{\n  \"a b\": ["},
		{"9-10", ""},
	} {
		span, err := f.At(tt.place)
		if err != nil {
			span = search.Span{}
		}
		if got := text[span.Start:span.End]; got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.place, got, err, tt.want)
		}
	}
}
