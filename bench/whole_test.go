package bench

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"rlmproxy/bench/outputs"
	"rlmproxy/middleware"
	shown "rlmproxy/pipeline/show"
)

const wholeGolden = "testdata/whole.golden"

// What the first lines say of where to go on.
var (
	firstPage  = regexp.MustCompile(`^\[cut: .* · the first ([\d,]+) of [\d,]+ lines`)
	nextOffset = regexp.MustCompile(`^\[.* next offset (\d+)`)
	nextPage   = regexp.MustCompile(`^next: proxy_filter \{(.*"offset":.*)\}$`)
)

// readWhole reads a result to its end as its replies say, and returns what it has read.
func (r *reader) readWhole() string {
	r.tb.Helper()
	if !r.first.cut {
		return r.first.text
	}
	lines := strings.SplitAfter(r.first.text, "\n")
	var read strings.Builder
	next := `"cache_id":"$id"`
	if m := firstPage.FindStringSubmatch(lines[0]); m != nil {
		n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		if err != nil {
			r.tb.Fatal(err)
		}
		call := nextPage.FindStringSubmatch(strings.TrimSuffix(lines[1], "\n"))
		if call == nil {
			r.tb.Fatalf("no call of the next page: %s", lines[1])
		}
		next = call[1]
		read.WriteString(strings.Join(lines[2:2+n], ""))
	}
	for next != "" {
		text := r.call("proxy_filter", next).text
		head, page, _ := strings.Cut(text, "\n")
		if next = ""; !strings.HasPrefix(head, "[") || !strings.Contains(head, " of ") {
			page = text
		} else if m := nextOffset.FindStringSubmatch(head); m != nil {
			next = `"cache_id":"$id","offset":` + m[1]
		}
		read.WriteString(page)
	}
	return read.String()
}

// TestWhole reads texts that agents read whole, holds that what was read is the text, and
// compares what that cost with the golden file.
func TestWhole(t *testing.T) {
	var out bytes.Buffer
	out.WriteString(`Tokens of o200k that an agent reads and writes to read a text from its first line to its last, as the replies tell it to.
The proxy's own tools and instructions, and the first call, are not counted.
inlined   the whole result, without the proxy

`)
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "tokens\tinlined\tcalls\t\x00  text")
	tokens, inlined, calls := readTexts(t, middleware.Options{}, func(r *reader, name string, whole int) {
		fmt.Fprintf(w, "%s\t%s\t%d\t\x00  %s\n", shown.Count(r.tokens), shown.Count(whole), r.calls, strings.TrimPrefix(name, "whole/"))
	})
	fmt.Fprintf(w, "%s\t%s\t%.2f\t\x00  %d texts: %.3f of inlined\n", shown.Count(tokens), shown.Count(inlined), calls, len(outputs.Whole()), float64(tokens)/float64(inlined))
	w.Flush()
	got := bytes.ReplaceAll(out.Bytes(), []byte{0}, nil)
	if *update {
		if err := os.WriteFile(wholeGolden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(wholeGolden)
	if err != nil {
		t.Fatalf("%v\ngo test ./bench -run TestWhole -update writes it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if that is meant: go test ./bench -run TestWhole -update\ngot:\n%s", wholeGolden, got)
	}
}

// readTexts reads all texts whole and returns what that cost, and calls a text.
func readTexts(t *testing.T, opts middleware.Options, each func(r *reader, name string, whole int)) (tokens, inlined int, calls float64) {
	t.Helper()
	for _, name := range outputs.Whole() {
		data := anyFile(t, name)
		r := begin(t, name, data, opts)
		if got := r.readWhole(); got != string(data) {
			t.Errorf("%s: %d bytes were read of %d, and not the same", name, len(got), len(data))
		}
		whole := cost(string(data))
		each(r, name, whole)
		tokens, inlined, calls = tokens+r.tokens, inlined+whole, calls+float64(r.calls)
	}
	return tokens, inlined, calls / float64(len(outputs.Whole()))
}

// TestSweepWhole prints, as rows of Markdown, what texts that are read whole cost with other
// limits by kind, and what the tasks of TestSavings cost then.
func TestSweepWhole(t *testing.T) {
	if !*sweep {
		t.Skip("a table for docs/defaults.md, not a check: -sweep prints it")
	}
	fmt.Println("| limit of source, Markdown, configuration, diffs | read whole | of inlined | calls a text | tasks of TestSavings |")
	fmt.Println("| ---: | ---: | ---: | ---: | ---: |")
	for _, limit := range []int{2000, 4000, 6000, 8000} {
		opts := middleware.Options{KindTokens: map[string]int{"source": limit, "markdown": limit, "config": limit, "diff": limit}}
		tokens, inlined, calls := readTexts(t, opts, func(*reader, string, int) {})
		sum := summarise(plays(t, opts))
		fmt.Printf("| %s | %s | %.3f | %.2f | %s |\n", comma(limit), comma(tokens), float64(tokens)/float64(inlined), calls, comma(sum.total))
	}
}
