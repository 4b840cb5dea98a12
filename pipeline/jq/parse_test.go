package jq

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNumbers: integers are exact at any size, and numbers that no program
// computes with keep their spelling.
func TestNumbers(t *testing.T) {
	for _, tt := range []struct{ doc, program, want string }{
		{"[9007199254740993, 18446744073709551616]", ".[] * 3", "27021597764222979\n55340232221128654848\n"},
		{"[1.0, -0, 1e400, 1.50, 0.30000000000000004]", ".", "[1.0,-0,1e400,1.50,0.30000000000000004]\n"},
		{"[1.0, 1]", ".[0] == .[1], unique", "true\n[1.0]\n"},
		{`["\ud800", "\ud83d\ude00", "` + "\xff" + `"]`, ".[]", "\"\uFFFD\"\n\"😀\"\n\"\uFFFD\"\n"},
		{`{"b":1,"a":2,"b":3}`, ".", `{"a":2,"b":3}` + "\n"},
	} {
		out, err := Eval(t.Context(), JSON, []byte(tt.doc), tt.program)
		if string(out.Data) != tt.want || err != nil {
			t.Errorf("%s over %s: %s, %v", tt.program, tt.doc, out.Data, err)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		kind Kind
		doc  string
		want any // nil: refused
	}{
		{Text, "a\xff\xfeb", "a\uFFFD\uFFFDb"},
		{JSON, " [] ", []any{}},
		{JSON, "1 2", nil},
		{JSON, "", nil},
		{JSON, strings.Repeat("[", 10_000_000), nil},
		{Lines, "\n\"a\"\n\n{}\n", []any{"a", map[string]any{}}},
		{Lines, "", []any{}},
		{Lines, "1\n[", nil},
		{9, "1", nil},
	} {
		got, err := parse(tt.kind, []byte(tt.doc))
		if (err != nil) != (tt.want == nil) || err == nil && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%.20q: %v, %v", tt.doc, got, err)
		}
	}
}

// readers are programs that gojq runs over a tree that others use too.
var readers = strings.Split(strings.TrimSpace(`
.
.. | numbers
sort
reverse
add
[.[]?] + [1]
[limit(2; .[]?)] | . + [3]
.[0:1]? + [3]
flatten
unique
group_by(.)
to_entries
with_entries(.)
[paths]
tojson
[.[]? | tostring]
reduce .[]? as $x ([]; . + [$x])
[.[0:1]?[]?] + ["x"]
pick(.[0]?)
setpath(["a"]; 1)
setpath([0, 1]; 1)
transpose
[.[]?, 1] | sort_by(.)
[splits("a")?]
min_by(.), max_by(.)
tostream
[tostream] | fromstream(.[])
. as [$a] | $a
getpath(["a"])
. * {"b": 1}
. - [1]
map(.)
walk(.)
del(.[0])
del(.. | select(. == 1))
delpaths([paths])
.[0] = 1
.[0] |= empty
map_values(empty)
.a += 1
.[1:] = [1]
`), "\n")

// TestTreesStay: no program that does not ask for a tree of its own changes the
// one that it runs over.
func TestTreesStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte(genJSON(t, 3))
		kept, err := parse(JSON, doc)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		for range 10 {
			source := rapid.SampledFrom(readers).Draw(t, "first")
			if second := rapid.SampledFrom(readers).Draw(t, "second"); second != "." {
				source = "(" + source + ") | " + second
			}
			p, err := compile(source)
			if err != nil {
				t.Fatalf("%s: %v", source, err)
			}
			if p.writes {
				continue
			}
			_, _ = p.safely(t.Context(), kept)
			if again, _ := parse(JSON, doc); !reflect.DeepEqual(kept, again) {
				t.Fatalf("%s changed %s into %v", source, doc, kept)
			}
		}
	})
}

// genJSON draws a document.
func genJSON(t *rapid.T, depth int) string {
	kinds := 5
	if depth == 0 {
		kinds = 3
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false", "1.0", "2.50", "-0", "1e400", "9007199254740993"}).Draw(t, "word")
	case 1:
		return rapid.SampledFrom([]string{"-1", "0", "1", "2"}).Draw(t, "int")
	case 2:
		return rapid.SampledFrom([]string{`""`, `"a"`, `"ab"`, `"é\n"`, `"a,b"`}).Draw(t, "text")
	case 3:
		return "[" + strings.Join(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return genJSON(t, depth-1) }), 0, 4).Draw(t, "items"), ",") + "]"
	}
	return "{" + strings.Join(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{`"a":`, `"b":`, `"key":`, `"value":`}).Draw(t, "key") + genJSON(t, depth-1)
	}), 0, 4).Draw(t, "members"), ",") + "}"
}
