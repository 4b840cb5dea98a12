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
		{"neither", rows, "[{", "", 50, false},
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
	tables := 0
	rapid.Check(t, func(t *rapid.T) {
		input := rapid.OneOf(doctest.GenDoc(), doctest.GenRows()).Draw(t, "doc")
		inside := rapid.Bool().Draw(t, "inside")
		if inside {
			input = fmt.Appendf(nil, `{"a":1,"rows":%s,"b":[2]}`, input)
		}
		v := doc.Recognise(input, nil)
		out, ok := flatTable(v)
		if !ok {
			return
		}
		tables++
		head, rows, within := strings.Cut(string(out.Data), "\n")
		within = within && strings.Contains(head, tableMark)
		if !within {
			rows = string(out.Data)
		}
		back := untable(t, rows)
		if within {
			back = strings.Replace(head, tableMark, back, 1)
		}
		want := doctest.Entered(doctest.Decode(t, v.Data))
		if d := cmp.Diff(want, doctest.Entered(doctest.Decode(t, []byte(back)))); d != "" {
			t.Fatalf("%s of %s\n%s\n%s", out.Note, input, out.Data, d)
		}
	})
	if tables < 5 {
		t.Errorf("hardly anything was tested: %d tables", tables)
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
