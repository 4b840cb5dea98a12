package render

import (
	"encoding/json"
	"fmt"
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
	indented := "[\n" + strings.Repeat("    {\n        \"some_name\": 1\n    },\n", 50) + "    {}\n]"
	rows := "[" + strings.Repeat(`{"some_name":1,"other_name":"v"},`, 50) + `{"other_name":"w"}]`
	nested := "[" + strings.Repeat(`{"some_name":1,"other_name":{"v":1}},`, 50) + `{"other_name":"w"}]`
	wrapped := `{"result":` + show.Quote(`[`+strings.Repeat(`{"some_name":"a"},`, 50)+`{}]`) + `,"plain":"x"}`
	for _, tt := range []struct {
		name, in, want, note string
		budget               int
		ok                   bool
	}{
		{"fits", "[ 1 ]", "[ 1 ]", "", 10, true},
		{"minified", indented, `[{"some_name":1},`, "minified", 400, true},
		{"table", rows, "some_name|other_name\n1|v\n", "as a table; an empty cell is a missing field", 300, true},
		{"table of lines", strings.ReplaceAll(rows[1:len(rows)-1], "},{", "}\n{"), "some_name|other_name\n1|v\n", "as a table; an empty cell is a missing field", 300, true},
		{"table inside", `{"n":{"rows": ` + rows + `,"x": 1}}`, `{"n":{"rows":"table below","x":1}}` + "\nsome_name|other_name\n1|v\n", "n.rows as a table; an empty cell is a missing field", 300, true},
		{"nested is no table", nested, "[{", "", 400, false},
		{"unwrapped", wrapped, `{"result":[{"some_name":"a"},`, "the strings at result are written as the JSON they hold", 310, true},
		{"neither", rows, "[{", "", 50, false},
		{"text around it", "See:\n" + indented + "\nbye", "See:\n[{\"some_name\":1},", "minified", 400, true},
		{"text around a table", "See:\n" + rows + "\nbye", "See:\nsome_name|other_name\n1|v\n", "as a table; an empty cell is a missing field", 310, true},
		{"NaN", strings.Replace(indented, "1", "NaN", 1), "[", "NaN and Infinity are null here, 1 in all", 400, false},
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
