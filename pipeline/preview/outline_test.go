package preview

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/bench/outputs"
	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/project"
	"rlmproxy/pipeline/query"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

func TestOutlineJSON(t *testing.T) {
	const input = `{"n":1,"items":[{"id":1,"s":"a","user":{"name":"x"}},{"id":7,"s":"a","user":null},{"id":3,"s":"b","a.b":[1,2]}]}`
	for _, tt := range []struct {
		o        Outline
		in, want string
	}{
		{Outline{}, input, `JSON object of 2 fields, 112 bytes
Use these paths in fields; put a dot in front for jq
n: 1
items: array, 3 items
items[].id: number, 1..7
items[].s: string, "a" ×2 "b"
items[].user: null or object (50%), in 67%
items[].user.name: string, "x"
items[]["a.b"]: array, in 33%, 2 items
items[]["a.b"][]?: number, 1..2
`},
		{Outline{MaxDepth: 1}, input, "JSON object of 2 fields, 112 bytes\nUse these paths in fields; put a dot in front for jq\nn: 1\nitems: array, 3 items {id, s, user 67%, a.b 33%}\n"},
		{Outline{Path: "items.user"}, input, "at items[].user: 2 values, 19 bytes\nitems[].user: null or object (50%)\nUse these paths in fields; put a dot in front for jq\nitems[].user.name: string, \"x\"\nsample {\"name\":\"x\"}\n"},
		{Outline{Path: "items[2]"}, input, "at items[2]: JSON object of 3 fields, 28 bytes\nUse these paths in fields; put a dot in front for jq\nitems[2].id: 3\nitems[2].s: \"b\"\nitems[2][\"a.b\"]: array, 2 items\nitems[2][\"a.b\"][]: number, 1..2\n"},
		{Outline{}, "{\"a\":1}\n{\"a\":1}\n{\"b\":true}\n", "JSON Lines, an array of 3 lines, 27 bytes\nUse these paths in fields; put a dot in front for jq\n[].b: boolean, in 33%, true\n[].a: number, in 67%, 1 ×2\n[0] {\"a\":1}\n"},
		{Outline{}, "[]", "JSON array of 0 items, 2 bytes\n"},
		{Outline{Path: "s"}, `{"s":"{\"x\":1}"}`, "at s|fromjson: JSON object of 1 field, 7 bytes\nUse these paths in fields; put a dot in front for jq\ns|fromjson|.x: 1\n"},
	} {
		got := doctest.Apply(t, &tt.o, tt.in)
		if d := cmp.Diff(tt.want, string(got.Data)); d != "" {
			t.Errorf("%s of %s:\n%s", &tt.o, tt.in, d)
		}
	}
	e := doctest.ApplyError(t, &Outline{Path: "items.usr.name"}, input)
	if !strings.Contains(e.Hint, "items[].user.name") {
		t.Error(e)
	}
	doctest.ApplyError(t, &Outline{MaxDepth: -1}, input)
	doctest.ApplyError(t, &Outline{Path: "a"}, "text")
}

func TestOutlineMap(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"byID":{`)
	for i := range 1204 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"id%d":{"n":%d}`, i, i)
	}
	b.WriteString(`}}`)
	got := string(doctest.Apply(t, &Outline{}, b.String()).Data)
	if flat := string(doctest.Apply(t, &Outline{MaxDepth: 1}, b.String()).Data); !strings.Contains(flat, "\nbyID: object") {
		t.Errorf("no byID in\n%s", flat)
	}
	for _, want := range []string{`byID[]: {1,204 keys like "id0", "id1", "id2"} → object`, "byID[].n: number, 0..1203"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// outlinePaths reads the paths back from an outline.
func outlinePaths(text []byte) []string {
	_, list, _ := strings.Cut(string(text), "put a dot in front for jq\n")
	var paths []string
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, "sample ") && !strings.HasPrefix(line, "…") {
			paths = append(paths, previewPath(line))
		}
	}
	return paths
}

// previewPath is what stands before the first space or ": " outside of quotes.
func previewPath(line string) string {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch {
		case quoted && line[i] == '\\':
			i++
		case line[i] == '"':
			quoted = !quoted
		case !quoted && (line[i] == ' ' || strings.HasPrefix(line[i:], ": ")):
			return line[:i]
		}
	}
	return line
}

// TestOutlinePathsWork uses each path that is printed, in documents of records
// of one shape and in mixed ones.
func TestOutlinePathsWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-c]|a\.b|x y|q"|ü|`)
		keys := rapid.SliceOfNDistinct(key, 1, 4, rapid.ID).Draw(t, "keys")
		var record strings.Builder
		for i, k := range keys {
			if i > 0 {
				record.WriteByte(',')
			}
			value := rapid.SampledFrom([]string{`1`, `"s"`, `{"x":{"y":[1]}}`, `[{"z":"\\"}]`, `[[{"w":1}]]`}).Draw(t, "value")
			fmt.Fprintf(&record, "%s:%s", show.Quote(k), value)
		}
		input := "{" + record.String() + "}"
		switch rapid.IntRange(0, 2).Draw(t, "form") {
		case 0:
			input = "[" + input + "," + input + "]"
		case 1:
			input = input + "\n" + input
		}
		if rapid.Bool().Draw(t, "mixed") {
			input = string(doctest.GenDoc().Draw(t, "doc"))
		}
		in := doc.Recognise([]byte(input), nil)
		if in.Kind == doc.Text || in.Items == 0 {
			return
		}
		ctx := context.Background()
		out, err := (&Outline{MaxDepth: 9}).Apply(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		paths := outlinePaths(out.Data)
		if len(paths) == 0 {
			t.Fatalf("no paths in\n%s", out.Data)
		}
		preview := newLayout(5000, in.Total)
		preview.json(in)
		for _, e := range preview.added[1:] {
			paths = append(paths, previewPath(e.text))
		}
		for _, p := range paths {
			if _, err := (&project.Project{Fields: []string{p}}).Apply(ctx, in); err != nil {
				t.Errorf("fields %s: %v", p, err)
			}
			if v, err := (&query.JQ{Program: "." + p}).Apply(ctx, in); err != nil || len(v.Data) == 0 && !strings.Contains(p, "?") {
				t.Errorf("jq .%s: %s, %v", p, v.Data, err)
			}
			if _, err := (&Outline{Path: p}).Apply(ctx, in); err != nil {
				t.Errorf("path %s: %v", p, err)
			}
		}
	})
}

func TestGuessFormat(t *testing.T) {
	for _, tt := range []struct{ want, in string }{
		{"log", "2024-01-02T03:04:05Z info a\n2024-01-02T03:04:06Z error b\n"},
		{"log", "[2024-01-02 03:04:05] a\n[2024-01-02 03:04:06] b\n"},
		{"Markdown", "# Title\n\nSome words.\n\n## Part\n\n- one\n- two\n"},
		{"CSV", "id,name\n1,a\n2,\"b, c\"\n"},
		{"TSV", "id\tname\n1\ta\n2\tb\n"},
		{"diff", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"},
		{"source", "package a\n\nfunc b() {\n\treturn\n}\n"},
		{"YAML", "name: a\nitems:\n  - x: 1\n  - x: 2\n"},
		{"HTML", "<html>\n<body>\n<h1>A</h1>\n</body>\n</html>\n"},
		{"plain text", "Some words.\nAnd more of them.\n"},
		{"plain text", ""},
		{"binary", "a\x00b"},
	} {
		if got := digest.Kind([]byte(tt.in)); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestOutlineText(t *testing.T) {
	got := doctest.Apply(t, &Outline{}, "# A\nx\n## B\ny\n- z\n- w\n- v\n")
	want := "Markdown, 7 lines, 25 bytes, 2 headings\nheadings:\n1: # A\n3: ## B\n1: # A\n2: x\n3: ## B\n4: y\n5: - z\n6: - w\n7: - v\n"
	if d := cmp.Diff(want, string(got.Data)); d != "" {
		t.Error(d)
	}
	got = doctest.Apply(t, &Outline{}, "id,name,x\n1,a,\n2.5,b,\n")
	for _, want := range []string{"[].id: number, 1..2.5\n", "[]: the same in all: x \"\"\n"} {
		if !strings.Contains(string(got.Data), want) {
			t.Errorf("no %s in\n%s", want, got.Data)
		}
	}
	if !strings.Contains(string(got.Data), "CSV, 2 rows, 22 bytes; jq and fields see an array of objects\n") {
		t.Errorf("got\n%s", got.Data)
	}
}

// TestGuessLargeSource: source code whose first lines all end in a semicolon was
// once taken for a table.
func TestGuessLargeSource(t *testing.T) {
	code := strings.Repeat("import {A} from 'a';\n", 8) + strings.Repeat("  /** text */\n  call(a, b): void;\n}\n", 5000)
	if got := digest.Kind([]byte(code)); got != "source" {
		t.Errorf("source code is taken for %s", got)
	}
	rows := "a,b,c\n" + strings.Repeat("1,\"x, y\",3\n", 20_000)
	if got := digest.Kind([]byte(rows)); got != "CSV" {
		t.Errorf("CSV is taken for %s", got)
	}
}

// TestOutlineRecords: an outline of a text that is made of records tells their paths too.
func TestOutlineRecords(t *testing.T) {
	for name, want := range map[string]string{
		"worker.log":        "\njq and fields see an array of 1,623 objects\n",
		"git-log-patch.txt": "\n[].files[].status: ",
		"golangci.yml":      "\nlinters.enable: array, 22 items",
	} {
		data, err := outputs.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got := doctest.Apply(t, &Outline{Budget: 2000}, string(data))
		if !strings.Contains(string(got.Data), want) || !tokens.AtMost(got.Data, 2000) {
			t.Errorf("%s: no %q in\n%s", name, want, got.Data)
		}
	}
}
