package render

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
)

func TestFormat(t *testing.T) {
	for _, tt := range []struct{ as, in, want string }{
		{"", `{ "a" : [ 1 , 2 ] }`, `{"a":[1,2]}`},
		{"json", "{\"a\": 1}\n{\"a\": 2}", "{\"a\":1}\n{\"a\":2}\n"},
		{"lines", `[{"a": 1}, 2]`, "{\"a\":1}\n2\n"},
		{"lines", `{"a": 1, "b": [2]}`, "{\"a\":1}\n{\"b\":[2]}\n"},
		{"text", `["a\nb", 2, null, {"x": "y"}]`, "a\nb\n2\nnull\n{\"x\": \"y\"}\n"},
		{"text", "plain", "plain"},
		{"text", "{\n  \"a\": [\"b\"]\n}\n", "{\n  \"a\": [\"b\"]\n}\n"},
		{"text", "[ {\"a\": \"b\"}, 1.0 ]", "[ {\"a\": \"b\"}, 1.0 ]"},
		{"table", `[{"id":1,"name":"ann"},{"id":2.0,"name":null}]`, "id|name\n1|ann\n2.0|null\n"},
		{"table", `[{"a":"1"},{"b":""},{"a":"x|y","b":"null"}]`, "a|b\n\"1\"|\n|\"\"\n\"x\\u007cy\"|\"null\"\n"},
		{"table", `[{"a":[1, "|"]},{"a":"say \"hi\""}]`, "a\n[1,\"\\u007c\"]\n\"say \\\"hi\\\"\"\n"},
		{"table", "{\"a\":1}\n{\"a\":2}\n", "a\n1\n2\n"},
		{"table", "[]", "[]"},
	} {
		if got := doctest.Apply(t, &Format{tt.as}, tt.in); string(got.Data) != tt.want {
			t.Errorf("%s of %s:\n got %q\nwant %q", tt.as, tt.in, got.Data, tt.want)
		}
	}
	for _, tt := range []struct{ as, in string }{
		{"xml", "[]"}, {"json", "text"}, {"table", "text"}, {"table", "[1]"}, {"table", `{"a":1}`}, {"table", `[{"a":1,"a":2}]`},
	} {
		doctest.ApplyError(t, &Format{tt.as}, tt.in)
	}
}

// readTable is the inverse of table.
func readTable(t *rapid.T, data []byte) []any {
	rows := []any{}
	var names []string
	cell := func(s string) any {
		if json.Valid([]byte(s)) {
			return doctest.Decode(t, []byte(s))
		}
		return s
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		row := map[string]any{}
		for j, c := range strings.Split(line, "|") {
			switch {
			case i == 0:
				name, _ := cell(c).(string)
				names = append(names, name)
			case c != "":
				row[names[j]] = cell(c)
			}
		}
		if i > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

func TestTableLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([]string{"a", "b", "1", "x|y", "", " s", "null", "ü"})
		records := rapid.SliceOfN(rapid.MapOfN(keys, doctest.GenTree(1), 1, 4), 1, 5).Draw(t, "records")
		input, err := json.Marshal(records)
		if err != nil {
			t.Fatal(err)
		}
		out, err := (&Format{"table"}).Apply(context.Background(), doc.Recognise(input, nil))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(doctest.Decode(t, input), any(readTable(t, out.Data))); d != "" {
			t.Fatalf("%s\n%s\n%s", input, out.Data, d)
		}
	})
}
