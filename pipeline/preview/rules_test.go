package preview

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"rlmproxy/bench/corpus"
	"rlmproxy/pipeline/digest/digesttest"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/find"
	"rlmproxy/pipeline/page"
	"rlmproxy/pipeline/query"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// A rules checks what is promised of any text. Its calls share what is derived,
// as those for one cached result do.
type rules struct {
	t      doctest.Fatal
	v      doc.Value
	starts []int32 // of lines, when first asked for
}

// newRules is nil for a document that is no text.
func newRules(t doctest.Fatal, data []byte) *rules {
	kept := map[string]any{}
	v := doc.Recognise(data, func(key string, build func() (any, int64, error)) (any, error) {
		if a, ok := kept[key]; ok {
			return a, nil
		}
		a, _, err := build()
		if err == nil {
			kept[key] = a
		}
		return a, err
	})
	if v.Kind != doc.Text {
		return nil
	}
	return &rules{t: t, v: v}
}

// all holds what is promised of previews of the budgets, of an outline and of
// the calls. If twice, the last preview is also made from nothing.
func (r *rules) all(twice bool, budgets ...int) {
	if r == nil {
		return
	}
	r.t.Helper()
	var text []byte
	for _, budget := range budgets {
		text = r.preview(budget)
	}
	if twice {
		if again, _ := Preview(doc.Recognise(r.v.Data, nil), budgets[len(budgets)-1]); !bytes.Equal(again, text) {
			r.t.Fatalf("two previews differ:\n%s\n%s", text, again)
		}
	}
	r.outline()
	r.call(NextCall(r.v, "k3v9"))
}

func (r *rules) preview(budget int) []byte {
	r.t.Helper()
	text, part := Preview(r.v, budget)
	if !tokens.AtMost(text, max(budget, 0)) || !utf8.Valid(text) || part.Shown > part.Total {
		n, _ := tokens.Count(text)
		r.t.Fatalf("%d tokens of %d, %+v:\n%q", n, budget, part, text)
	}
	if len(text) < len(r.v.Data)/2 || string(text) != show.Printable(r.v.Data) {
		r.lines(text)
	}
	return text
}

func (r *rules) outline() {
	r.t.Helper()
	const budget = 2000 // half of it for what jq sees, where there is such
	out, err := (&Outline{Budget: budget}).Apply(context.Background(), r.v)
	if err != nil || !tokens.AtMost(out.Data, budget+1) || !utf8.Valid(out.Data) {
		r.t.Fatalf("outline: %v\n%q", err, out.Data)
	}
	r.lines(out.Data)
}

// lines fails for a line of a preview that begins with the number of a line of
// the text and is not that line, or is another's.
func (r *rules) lines(preview []byte) {
	r.t.Helper()
	for shown := range strings.Lines(string(preview)) {
		digits := len(shown) - len(strings.TrimLeft(shown, "0123456789"))
		number, text, ok := strings.Cut(strings.TrimRight(shown, "\n"), ": ")
		if !ok || digits == 0 || digits != len(number) {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > r.v.Total {
			r.t.Fatalf("line %s of %d:\n%s", number, r.v.Total, preview)
		}
		whole := show.Printable(bytes.TrimRight(r.line(n-1), "\r\n"))
		if i := strings.LastIndex(text, "…"); i >= 0 {
			text = text[:i]
		}
		if i := strings.Index(text, " … "); i >= 0 {
			text = text[:i]
		}
		if i := strings.LastIndex(text, "  ("); i >= 0 && !strings.Contains(whole, text) {
			text = text[:i]
		}
		if !strings.Contains(whole, strings.TrimRight(text, "\r\n")) {
			r.t.Fatalf("line %d is\n%q, shown is\n%q", n, show.Clip(whole, 300), text)
		}
	}
}

func (r *rules) line(n int) []byte {
	if r.starts == nil {
		r.starts = make([]int32, 0, r.v.Total+1)
		at := 0
		for line := range bytes.Lines(r.v.Data) {
			r.starts = append(r.starts, int32(at))
			at += len(line)
		}
		r.starts = append(r.starts, int32(at))
	}
	return r.v.Data[r.starts[n]:r.starts[n+1]]
}

// call makes a suggested call.
func (r *rules) call(c string) {
	t, v := r.t, r.v
	t.Helper()
	if c == "" {
		return
	}
	tool, args, _ := strings.Cut(c, " ")
	var a struct {
		CacheID      string `json:"cache_id"`
		Pattern      string `json:"pattern"`
		Mode         string `json:"mode"`
		ContextType  string `json:"context_type"`
		ContextLines int    `json:"context_lines"`
		MaxResults   int    `json:"max_results"`
		IgnoreCase   bool   `json:"case_insensitive"`
		Offset       int    `json:"offset"`
		Limit        int    `json:"limit"`
		JQ           string `json:"jq"`
	}
	d := json.NewDecoder(strings.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil || a.CacheID != "k3v9" {
		t.Fatalf("%s: %v", c, err)
	}
	ctx := context.Background()
	switch tool {
	case "proxy_search":
		out, err := (&find.Search{Pattern: a.Pattern, Mode: a.Mode, ContextType: a.ContextType, ContextLines: a.ContextLines, MaxResults: a.MaxResults, CaseInsensitive: a.IgnoreCase}).Apply(ctx, v)
		if err != nil || out.Items == 0 {
			t.Fatalf("%s finds nothing, %v, in\n%.2000q", c, err, v.Data)
		}
	case "proxy_filter":
		if a.JQ != "" { // on a table
			if out, err := (&query.JQ{Program: a.JQ}).Apply(ctx, v); err != nil || len(out.Data) == 0 {
				t.Fatalf("%s: %s, %v", c, out.Data, err)
			}
			return
		}
		out, err := (&page.Slice{Offset: a.Offset, Limit: a.Limit}).Apply(ctx, v)
		if err != nil || out.Items == 0 {
			t.Fatalf("%s is empty, %v", c, err)
		}
	case "proxy_explore":
	default:
		t.Fatalf("%s", c)
	}
}

// corpusFile returns a file of the corpus.
func corpusFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := corpus.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// imitations look like our own lines.
const imitations = "[cut: ~980 of ~48,391 tokens shown · 3 of 1,204 items · cache_id=k3v9x2m8q4t1w6za]\nnext: proxy_filter {\"cache_id\":\"x\"}\n… 5 left out …\n12: not line 12\nheadings:\n3× 4  template\n"

// TestTextSamples takes each sample in four forms. Small budgets take turns, and
// one form of each is tried twice.
func TestTextSamples(t *testing.T) {
	small := []int{0, 1, 30, 100}
	for i, s := range digesttest.Samples {
		for j, data := range []string{s.Text, strings.Repeat(s.Text, 40), imitations + strings.Repeat(s.Text, 20) + imitations, "\xff\xfe" + strings.Repeat(s.Text, 20) + "\x80"} {
			newRules(t, []byte(data)).all(j == i%4, small[(i/4+j)%4], 1000)
		}
	}
}

func TestTextFiles(t *testing.T) {
	files := map[string][]byte{"ec2.d.ts": corpusFile(t, "ec2.d.ts"), "zipcodes.csv": corpusFile(t, "zipcodes.csv"), "log": digesttest.ServiceLog(3000), "random log": digesttest.RandomLog(3000)}
	for _, glob := range []string{"*.go", "../*.md", "../go.*", "../bench/*.md", "../.ci/*"} {
		names, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if data, err := os.ReadFile(name); err == nil {
				files[name] = data
			}
		}
	}
	for name, data := range files {
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			newRules(t, data).all(len(name)%3 == 0, 50, 1000)
		})
	}
}

// TestTextRandom mixes lines of all kinds.
func TestTextRandom(t *testing.T) {
	var lines []string
	for _, s := range digesttest.Samples {
		lines = append(lines, strings.SplitAfter(s.Text, "\n")...)
	}
	lines = append(lines, strings.SplitAfter(imitations, "\n")...)
	lines = append(lines, "\n", "\r\n", "\xff\x00\n", strings.Repeat("long ", 500)+"\n", "漢字\n", "```\n", "@@ -1 +1 @@\n", "--- \n", "+++ \n", "goroutine 1 [x]:\n", "<", "</", "<!--", "\"", "| |\n|-|-|\n")
	rapid.Check(t, func(t *rapid.T) {
		picked := rapid.SliceOfN(rapid.SampledFrom(lines), 1, 60).Draw(t, "lines")
		data := strings.Repeat(strings.Join(picked, ""), rapid.IntRange(1, 5).Draw(t, "times"))
		newRules(t, []byte(data)).all(true, rapid.IntRange(0, 1200).Draw(t, "budget"))
	})
}

func FuzzText(f *testing.F) {
	for _, s := range digesttest.Samples {
		f.Add([]byte(s.Text), 100)
		f.Add([]byte(strings.Repeat(s.Text, 20)), 300)
	}
	f.Fuzz(func(t *testing.T, data []byte, budget int) {
		if len(data) < 20_000 {
			slow := time.AfterFunc(20*time.Second, func() { panic("more than 20 s") })
			defer slow.Stop()
			newRules(t, data).all(true, min(budget, 2000))
		}
	})
}

// TestTextHostile: large and odd texts end soon, in bounded memory.
func TestTextHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	for name, data := range map[string][]byte{
		"10 M newlines":   bytes.Repeat([]byte("\n"), 10_000_000),
		"1 MB lines":      bytes.Repeat(append(bytes.Repeat([]byte("x y=1 "), 170_000), '\n'), 8),
		"tags":            bytes.Repeat([]byte("<a b='"), 500_000),
		"open tags":       bytes.Repeat([]byte("<a>"), 500_000),
		"script":          bytes.Repeat([]byte("<html><script>"), 200_000),
		"all new words":   digesttest.RandomLog(30_000),
		"invalid":         bytes.Repeat([]byte("2024-01-02T03:04:05Z ERROR \xff\xfe\x80\n"), 50_000),
		"hunks":           append([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n"), bytes.Repeat([]byte("@@ -1,9 +1,9 @@\n"), 200_000)...),
		"files in a diff": bytes.Repeat([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"), 50_000),
		"deep YAML":       []byte(deepYAML(2000)),
		"fences":          bytes.Repeat([]byte("# a\n\n```\n"), 100_000),
		"goroutines":      bytes.Repeat([]byte("goroutine 1 [x]:\nmain.f()\n\t/a.go:1 +0x1\n\n"), 50_000),
		"definitions":     bytes.Repeat([]byte("func f() {\n}\n"), 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			newRules(t, data).all(true, 1000)
		})
	}
}

func deepYAML(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%*sk%d:\n", i, "", i)
	}
	return b.String()
}
