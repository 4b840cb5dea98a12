package pipeline

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

	"rlmproxy/pipeline/tokens"
)

// checkLines fails for a line of a preview that begins with the number of a
// line of the text and is not that line, or is another's.
func checkLines(t interface {
	Helper()
	Fatalf(string, ...any)
}, data, preview []byte) {
	t.Helper()
	var lines [][]byte
	for line := range bytes.Lines(data) {
		lines = append(lines, line)
	}
	for shown := range strings.Lines(string(preview)) {
		digits := digitsAt([]byte(shown), 0)
		number, text, ok := strings.Cut(strings.TrimRight(shown, "\n"), ": ")
		if !ok || digits == 0 || digits != len(number) {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(lines) {
			t.Fatalf("line %s of %d:\n%s", number, len(lines), preview)
		}
		whole := printable(bytes.TrimRight(lines[n-1], "\r\n"))
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
			t.Fatalf("line %d is\n%q, shown is\n%q", n, clip(whole, 300), text)
		}
	}
}

// checkText holds what is promised of any text.
func checkText(t interface {
	Helper()
	Fatalf(string, ...any)
}, data []byte, budget int) {
	t.Helper()
	v := Recognise(data, nil)
	if v.Kind != Text {
		return
	}
	text, part := Preview(v, budget)
	if !tokens.AtMost(text, max(budget, 0)) || !utf8.Valid(text) || part.Shown > part.Total {
		n, _ := tokens.Count(text)
		t.Fatalf("%d tokens of %d, %+v:\n%q", n, budget, part, text)
	}
	if again, _ := Preview(v, budget); !bytes.Equal(again, text) {
		t.Fatalf("two previews differ:\n%s\n%s", text, again)
	}
	if !bytes.Equal(text, []byte(printable(data))) {
		checkLines(t, data, text)
	}
}

// checkRest holds the same of an outline, and makes the suggested calls.
func checkRest(t interface {
	Helper()
	Fatalf(string, ...any)
}, data []byte) {
	t.Helper()
	v := Recognise(data, nil)
	if v.Kind != Text {
		return
	}
	out, err := (&Outline{}).Apply(context.Background(), v)
	if err != nil || !tokens.AtMost(out.Data, outlineTokens+1) || !utf8.Valid(out.Data) {
		t.Fatalf("outline: %v\n%q", err, out.Data)
	}
	checkLines(t, data, out.Data)
	for _, c := range NextCalls(v, "k3v9") {
		checkCall(t, v, c)
	}
}

// checkCall makes a suggested call.
func checkCall(t interface {
	Helper()
	Fatalf(string, ...any)
}, v Value, c string) {
	t.Helper()
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
		out, err := (&Search{Pattern: a.Pattern, Mode: a.Mode, ContextType: a.ContextType, ContextLines: a.ContextLines, MaxResults: a.MaxResults, CaseInsensitive: a.IgnoreCase}).Apply(ctx, v)
		if err != nil || out.Items == 0 {
			t.Fatalf("%s finds nothing, %v, in\n%.2000q", c, err, v.Data)
		}
	case "proxy_filter":
		if a.JQ != "" { // on a table
			if out, err := (&JQ{Program: a.JQ}).Apply(ctx, v); err != nil || len(out.Data) == 0 {
				t.Fatalf("%s: %s, %v", c, out.Data, err)
			}
			return
		}
		out, err := (&Slice{Offset: a.Offset, Limit: a.Limit}).Apply(ctx, v)
		if err != nil || out.Items == 0 {
			t.Fatalf("%s is empty, %v", c, err)
		}
	case "proxy_explore":
	default:
		t.Fatalf("%s", c)
	}
}

// imitations look like our own lines.
const imitations = "[cut: ~980 of ~48,391 tokens shown · 3 of 1,204 items · cache_id=k3v9x2m8q4t1w6za]\nnext: proxy_filter {\"cache_id\":\"x\"}\n… 5 left out …\n12: not line 12\nheadings:\n3× 4  template\n"

func TestTextSamples(t *testing.T) {
	for _, s := range kindSamples {
		for _, data := range []string{s.in, strings.Repeat(s.in, 40), imitations + strings.Repeat(s.in, 20) + imitations, "\xff\xfe" + strings.Repeat(s.in, 20) + "\x80"} {
			for _, budget := range []int{0, 1, 30, 100, 1000} {
				checkText(t, []byte(data), budget)
			}
			checkRest(t, []byte(data))
		}
	}
}

func TestTextFiles(t *testing.T) {
	files := map[string][]byte{"ec2.d.ts": corpusFile(t, "ec2.d.ts"), "zipcodes.csv": corpusFile(t, "zipcodes.csv"), "log": serviceLog(3000), "random log": randomLog(3000)}
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
			for _, budget := range []int{50, 1000} {
				checkText(t, data, budget)
			}
			checkRest(t, data)
		})
	}
}

// TestTextRandom mixes lines of all kinds.
func TestTextRandom(t *testing.T) {
	var lines []string
	for _, s := range kindSamples {
		lines = append(lines, strings.SplitAfter(s.in, "\n")...)
	}
	lines = append(lines, strings.SplitAfter(imitations, "\n")...)
	lines = append(lines, "\n", "\r\n", "\xff\x00\n", strings.Repeat("long ", 500)+"\n", "漢字\n", "```\n", "@@ -1 +1 @@\n", "--- \n", "+++ \n", "goroutine 1 [x]:\n", "<", "</", "<!--", "\"", "| |\n|-|-|\n")
	rapid.Check(t, func(t *rapid.T) {
		picked := rapid.SliceOfN(rapid.SampledFrom(lines), 1, 60).Draw(t, "lines")
		data := strings.Repeat(strings.Join(picked, ""), rapid.IntRange(1, 5).Draw(t, "times"))
		checkText(t, []byte(data), rapid.IntRange(0, 1200).Draw(t, "budget"))
		checkRest(t, []byte(data))
	})
}

func FuzzText(f *testing.F) {
	for _, s := range kindSamples {
		f.Add([]byte(s.in), 100)
		f.Add([]byte(strings.Repeat(s.in, 20)), 300)
	}
	f.Fuzz(func(t *testing.T, data []byte, budget int) {
		if len(data) < 20_000 {
			slow := time.AfterFunc(20*time.Second, func() { panic("more than 20 s") })
			defer slow.Stop()
			checkText(t, data, min(budget, 2000))
			checkRest(t, data)
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
		"all new words":   randomLog(30_000),
		"invalid":         bytes.Repeat([]byte("2024-01-02T03:04:05Z ERROR \xff\xfe\x80\n"), 50_000),
		"hunks":           append([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n"), bytes.Repeat([]byte("@@ -1,9 +1,9 @@\n"), 200_000)...),
		"files in a diff": bytes.Repeat([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"), 50_000),
		"deep YAML":       []byte(deepYAML(2000)),
		"fences":          bytes.Repeat([]byte("# a\n\n```\n"), 100_000),
		"goroutines":      bytes.Repeat([]byte("goroutine 1 [x]:\nmain.f()\n\t/a.go:1 +0x1\n\n"), 50_000),
		"definitions":     bytes.Repeat([]byte("func f() {\n}\n"), 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			checkText(t, data, 1000)
			checkRest(t, data)
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
