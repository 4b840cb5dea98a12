package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

func TestLossless(t *testing.T) {
	indented := "[\n" + strings.Repeat("    {\n        \"some_name\": [1]\n    },\n", 50) + "    {}\n]"
	rows := "[" + strings.Repeat(`{"some_name":1,"other_name":"v"},`, 50) + `{"other_name":"w"}]`
	nested := "[" + strings.Repeat(`{"some_name":1,"other_name":{"v":1}},`, 50) + `{"other_name":"w"}]`
	wrapped := `{"result":` + show.Quote(`[`+strings.Repeat(`{"some_name":["a"]},`, 50)+`{}]`) + `,"plain":"x"}`
	urls := `[` + strings.Repeat(`{"u":["https://a.example/repos/o/r/1","https://a.example/repos/o/r/2"]},`, 50) + `{}]`
	files := `[{"name":"src","type":"dir","children":[{"name":"a.go","type":"file"},{"type":"dir","name":"empty","children":[]}]},{"name":"b.go","type":"file"}` + strings.Repeat(` `, 100) + `]`
	for _, tt := range []struct {
		name, in, want, note string
		budget               int
		ok                   bool
	}{
		{"fits", "[ 1 ]", "[ 1 ]", "", 10, true},
		{"minified", indented, `[{"some_name":[1]},`, "minified", 500, true},
		{"table", rows, "some_name|other_name\n1|v\n", "as a table; an empty cell is a missing field", 300, true},
		{"table of lines", strings.ReplaceAll(rows[1:len(rows)-1], "},{", "}\n{"), "some_name|other_name\n1|v\n", "as a table; an empty cell is a missing field", 300, true},
		{"table inside", `{"n":{"rows": ` + rows + `,"x": 1}}`, `{"n":{"rows":"table below","x":1}}` + "\nsome_name|other_name\n1|v\n", "n.rows as a table; an empty cell is a missing field", 300, true},
		{"nested is no table", nested, "[{", "", 400, false},
		{"table inside JSON inside", strings.NewReplacer("[\\\"a\\\"]", "1").Replace(wrapped), `{"result":"table below","plain":"x"}` + "\nsome_name\n1\n", "the strings at result are written as the JSON they hold; result as a table; an empty cell is a missing field", 310, true},
		{"unwrapped", wrapped, `{"result":[{"some_name":["a"]},`, "the strings at result are written as the JSON they hold", 310, true},
		{"prefixes", urls, "~1=https://a.example/repos/o/r\n~2=~1/1\n~3=~1/2\n" + `[{"u":["~2","~3"]},`, "minified; a leading ~N stands for the text after ~N=", 900, true},
		{"prefixes beside a key that looks like one", `{"~1":` + urls + `}`, "^1=https://a.example/repos/o/r\n^2=^1/1\n^3=^1/2\n" + `{"~1":[{"u":["^2","^3"]},`, "minified; a leading ^N stands for the text after ^N=", 900, true},
		{"tree", files, "src/\n  a.go\n  empty/\nb.go\n", `as a tree of name; names that end in / have children, indented by two spaces; their type is "dir", else "file"`, 40, true},
		{"neither", rows, "[{", "", 50, false},
		{"text around it", "See:\n" + indented + "\nbye", "See:\n[{\"some_name\":[1]},", "minified", 400, true},
		{"text around a table", "See:\n" + rows + "\nbye", "See:\nsome_name|other_name\n1|v\n", "as a table; an empty cell is a missing field", 310, true},
		{"NaN", strings.Replace(indented, "1", "NaN", 1), "[", "1 number, NaN or Infinity, became null", 400, false},
		{"NaN that fits", "[ NaN ]", "[ NaN ]", "", 10, true},
		{"text", strings.Repeat("word ", 100), "word", "", 20, false},
	} {
		v, ok := Lossless(doc.Recognise([]byte(tt.in), nil), tt.budget)
		if ok != tt.ok || !strings.HasPrefix(string(v.Data), tt.want) || v.Note != tt.note {
			t.Errorf("%s: %v, %q, %.80s", tt.name, ok, v.Note, v.Data)
		}
		if ok && !tokens.AtMost(v.Data, tt.budget) {
			t.Errorf("%s: over budget", tt.name)
		}
	}
}

// TestLosslessReadsBack makes the document again from what an agent reads.
func TestLosslessReadsBack(t *testing.T) {
	forms := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		input := rapid.OneOf(doctest.GenDoc(), doctest.GenRows()).Draw(t, "doc")
		inside := rapid.Bool().Draw(t, "inside")
		if inside {
			input = fmt.Appendf(nil, `{"a":1,"rows":%s,"b":[2]}`, input)
		}
		wrapped := rapid.Bool().Draw(t, "wrapped")
		if wrapped {
			input = fmt.Appendf(nil, `{"w":%s,"v":"x"}`, show.Quote(string(input)))
		}
		v := doc.Recognise(input, nil)
		for _, form := range []func(doc.Value) (doc.Value, bool){unwrapped, flatTable} {
			out, ok := form(v)
			if !ok {
				continue
			}
			got := out.Data
			if strings.Contains(out.Note, "table") {
				forms["table"]++
				head, rows, within := strings.Cut(string(got), "\n")
				if !within || !strings.Contains(head, tableMark) {
					rows = string(got)
				}
				back := untable(t, rows)
				if within && strings.Contains(head, tableMark) {
					back = strings.Replace(head, tableMark, back, 1)
				}
				got = []byte(back)
			} else {
				forms["unwrapped"]++
			}
			want := doctest.Entered(doctest.Decode(t, v.Data))
			if d := cmp.Diff(want, doctest.Entered(doctest.Decode(t, got))); d != "" {
				t.Fatalf("%s of %s\n%s\n%s", out.Note, input, out.Data, d)
			}
		}
	})
	if forms["table"] < 5 || forms["unwrapped"] < 5 {
		t.Errorf("hardly anything was tested: %v", forms)
	}
}

// untable reads a table back into JSON.
func untable(t *rapid.T, rows string) string {
	lines := strings.Split(strings.TrimSuffix(rows, "\n"), "\n")
	cell := func(s string) string {
		if s[0] == '"' || json.Valid([]byte(s)) {
			return s
		}
		return show.Quote(s)
	}
	head := strings.Split(lines[0], "|")
	var out []string
	for _, line := range lines[1:] {
		var members []string
		for i, c := range strings.Split(line, "|") {
			if c != "" {
				members = append(members, cell(head[i])+":"+cell(c))
			}
		}
		out = append(out, "{"+strings.Join(members, ",")+"}")
	}
	return "[" + strings.Join(out, ",") + "]"
}

// TestPrefixesReadBack puts what the lines above say back in place of the marks.
func TestPrefixesReadBack(t *testing.T) {
	used := 0
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"/repos", "/octo", "/1", "//", "/a\"b", "/ü", "{/n}", "~1", "^", "/"})
		url := rapid.Map(rapid.SliceOfN(part, 0, 5), func(parts []string) string { return "https://api.example.com" + strings.Join(parts, "") })
		values := rapid.SliceOfN(rapid.OneOf(url, url, rapid.String()), 3, 20).Draw(t, "values")
		input, _ := json.Marshal(map[string]any{"https://api.example.com/key": values})
		f, ok := prefixed(doc.Recognise(input, nil), 10_000)
		if !ok {
			return
		}
		used++
		text := string(f.v.Data)
		lines := strings.Split(strings.TrimSuffix(string(f.above), "\n"), "\n")
		for i := len(lines) - 1; i >= 0; i-- {
			mark, prefix, _ := strings.Cut(lines[i], "=")
			expand := func(s string) string {
				return regexp.MustCompile(regexp.QuoteMeta(mark)+`(/|$|")`).ReplaceAllString(s, strings.ReplaceAll(prefix, "$", "$$")+"$1")
			}
			for j := range lines {
				if name, value, _ := strings.Cut(lines[j], "="); strings.HasPrefix(value, mark) && !strings.HasPrefix(value, mark[:1]+"=") {
					lines[j] = name + "=" + expand(value)
				}
			}
			text = regexp.MustCompile(`([\[,])"`+regexp.QuoteMeta(mark)+`(/|")`).ReplaceAllString(text, `$1"`+strings.ReplaceAll(prefix, "$", "$$")+"$2")
		}
		if text != string(input) {
			t.Fatalf("%s\nwas written as\n%s%s\nand reads\n%s", input, f.above, f.v.Data, text)
		}
	})
	if used < 20 {
		t.Errorf("%d documents had prefixes", used)
	}
}

// TestTreesReadBack makes the objects again from an indented tree.
func TestTreesReadBack(t *testing.T) {
	type node = map[string]any
	names := rapid.SampledFrom([]string{"a", "b c", `q"`, "ü", "x|y", "trail ", "-", "."})
	var list func(depth int) *rapid.Generator[[]any]
	list = func(depth int) *rapid.Generator[[]any] {
		return rapid.Custom(func(t *rapid.T) []any {
			out := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "n") {
				n := node{"name": names.Draw(t, "name"), "type": "file"}
				if depth > 0 && rapid.Bool().Draw(t, "branch") {
					n["type"], n["children"] = "directory", list(depth-1).Draw(t, "children")
				}
				out = append(out, n)
			}
			return out
		})
	}
	used := 0
	rapid.Check(t, func(t *rapid.T) {
		want := list(4).Draw(t, "tree")
		input, _ := json.Marshal(want)
		out, ok := tree(doc.Recognise(input, nil))
		if !ok {
			return
		}
		used++
		root := []any{}
		open := []*[]any{&root} // where the children of each depth go
		for line := range strings.Lines(string(out.Data)) {
			line = strings.TrimSuffix(line, "\n")
			name := strings.TrimLeft(line, " ")
			depth := (len(line) - len(name)) / 2
			to := open[depth]
			if name, branch := strings.CutSuffix(name, "/"); branch {
				children := &[]any{}
				*to = append(*to, node{"name": name, "type": "directory", "children": children})
				open = append(open[:depth+1], children)
				continue
			}
			*to = append(*to, node{"name": name, "type": "file"})
		}
		got, _ := json.Marshal(root)
		if !bytes.Equal(got, input) {
			t.Fatalf("%s\nwas written as\n%s\nand reads\n%s", input, out.Data, got)
		}
	})
	if used < 20 {
		t.Errorf("%d documents were trees", used)
	}
}
