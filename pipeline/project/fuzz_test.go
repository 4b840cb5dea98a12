package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/bench/corpus"
	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
)

// FuzzProject projects any document along any paths, one a line.
func FuzzProject(f *testing.F) {
	for _, s := range []struct{ fields, exclude, input string }{
		{"a\nb.c", "", `[{"a":1,"b":{"c":2,"d":3}},{"b":{"c":[]},"a":2},{"a":1,"x":0,"a":3}]`},
		{"[1].a\n[].b\nc", "", `[{"a":1,"b":2,"c":3},{"a":1,"b":2,"c":3},[{"c":1}],[[{"b":1,"c":2}]]]`},
		{"a", "a.b", "{\"a\":{\"b\":1,\"c\":2}}\n{\"a\":\"{\\\"b\\\":1}\", \"\\u0061\": 1}\n\n{\"b\":3}"},
		{"", "[0]\n[2].a\n[].b", "{\"a\":1}\n{\"b\":3}\n{\"a\":1,\"c\":[1 , 2]}\n"},
		{"a.b\na", "", `{"a":"{\"b\":[1 ,2]}","c":1}`},
		{"a.b", "a.b.c", `{ "a" : [ "{\"b\": {\"c\":1, \"d\": \"e\"}}" , { "b" : { "c" : 1 } } ] , "x" : null }`},
		{"", "a.b.c", `[{"a":"{\"b\":\"{\\\"c\\\": 1}\", \"e\": \"{ }\"}"}]`},
		{"ü\n\"", "a", `{"\u00fc":1,"\"":2,"ü":3,"a\\":1,"\ud800":1}`},
		{".", "a", `{"a":1}`},
		{"[0]", "[][1]", `[[1,2,3],4]`},
		{"$", "0", "0"},
		{"a", "", `"{\"a\":1,\"b\":2}"`},
		{"", "a.b", `"{\"a\":{\"b\":1}}"`},
		{"a", "", `"x"`},
		{"a", "", ""},
		{"a\n[1]", "a.b", "1\n\"x\"\n\"{\\\"a\\\":{\\\"b\\\":1}}\"\n2"},
		{"*", "0", "0\v"},
		{".\n0", "0", "0\v"},
		{"b\na", "", "a,b\n1,2\n3,4\n5,6\n"},
	} {
		f.Add([]byte(s.input), s.fields, s.exclude)
	}
	f.Fuzz(func(t *testing.T, input []byte, fields, exclude string) {
		if len(input) > 20_000 {
			return
		}
		p := &Project{Fields: fuzzPaths(fields), Exclude: fuzzPaths(exclude)}
		sameProjection(t, p, doc.Recognise(input, nil))
		// jq also makes scalars, and lines of them.
		if jsonscan.Valid(input, doc.MaxDepth) {
			sameProjection(t, p, doc.Counted(doc.JSON, input, nil))
		}
		for line := range jsonscan.Lines(input) {
			if !jsonscan.Valid(line, doc.MaxDepth) {
				return
			}
		}
		sameProjection(t, p, doc.Counted(doc.JSONLines, input, nil))
	})
}

func fuzzPaths(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// TestProjectSlow projects records that are alike, but not quite.
func TestProjectSlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.SampledFrom([]string{"a", "a", "b", "b", "c", "d", "é", "[]", "[0]", "[1]"})
		path := rapid.Map(rapid.SliceOfN(step, 1, 4), func(steps []string) string {
			return strings.ReplaceAll(strings.Join(steps, "."), ".[", "[")
		})
		p := &Project{
			Fields:  rapid.SliceOfN(path, 0, 5).Draw(t, "fields"),
			Exclude: rapid.SliceOfN(path, 0, 3).Draw(t, "exclude"),
		}
		list := rapid.SliceOfN(genRecord(3), 1, 8).Draw(t, "records")
		if rapid.Bool().Draw(t, "lines") {
			var lines bytes.Buffer
			for _, r := range list {
				_ = json.Compact(&lines, []byte(r))
				lines.WriteString(rapid.SampledFrom([]string{"\n", "\n", " \r\n", "\n\n", "\n\u00a0"}).Draw(t, "end"))
			}
			sameProjection(t, p, doc.Counted(doc.JSONLines, lines.Bytes(), nil))
			return
		}
		input := []byte("[" + strings.Join(list, ",") + "]")
		if rapid.Bool().Draw(t, "indented") {
			var out bytes.Buffer
			_ = json.Indent(&out, input, "", "  ")
			input = out.Bytes()
		}
		sameProjection(t, p, doc.Counted(doc.JSON, input, nil))
	})
}

// genRecord draws the text of an object, with keys twice, keys that are
// spelt in several ways, and space where it may be.
func genRecord(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		space := rapid.SampledFrom([]string{"", "", "", "", " ", "\n\t"})
		key := rapid.SampledFrom([]string{`"a"`, `"a"`, `"b"`, `"b"`, `"c"`, `"d"`, `"\u0061"`, `"e\n"`, `"é"`, `"\u00e9"`, "\"\xff\"", `""`})
		keys := rapid.SliceOfN(key, 0, 5).Draw(t, "keys")
		if rapid.Bool().Draw(t, "usual") {
			keys = []string{`"a"`, `"x"`, `"b"`, `"c"`, `"d"`}
		}
		var b strings.Builder
		b.WriteString("{" + space.Draw(t, "space"))
		for i, k := range keys {
			if i > 0 {
				b.WriteString("," + space.Draw(t, "space"))
			}
			b.WriteString(k + space.Draw(t, "space") + ":" + space.Draw(t, "space") + genText(depth-1).Draw(t, "value") + space.Draw(t, "space"))
		}
		return b.String() + "}"
	})
}

func genText(depth int) *rapid.Generator[string] {
	scalar := rapid.SampledFrom([]string{"1", "-0.50e+3", "null", "true", `"x"`, `"a \"quoted\" string"`, `"{"`, `"[1 ]"`, `" { \"a\" : 1, \"b\":[2]}"`, "{}", "[ ]"})
	if depth <= 0 {
		return scalar
	}
	record := rapid.Deferred(func() *rapid.Generator[string] { return genRecord(depth) })
	list := rapid.Map(rapid.SliceOfN(rapid.OneOf(record, record, genText(0)), 0, 3), func(l []string) string { return "[" + strings.Join(l, " , ") + "]" })
	inString := rapid.Map(rapid.OneOf(record, list), func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	})
	return rapid.OneOf(scalar, scalar, record, record, list, inString)
}

// TestProjectManyStates has more states and members than are kept.
func TestProjectManyStates(t *testing.T) {
	var p Project
	var b strings.Builder
	for i := range 300 {
		p.Fields = append(p.Fields, fmt.Sprintf("k%d.a", i))
		fmt.Fprintf(&b, `,"k%d":{`, i)
		for j := range 300 {
			fmt.Fprintf(&b, `"x%d":%d,`, j, j)
		}
		fmt.Fprintf(&b, `"a":%d}`, i)
	}
	record := "{" + b.String()[1:] + "}"
	sameProjection(t, &p, doc.Counted(doc.JSON, []byte("["+record+","+record+",{},"+record+"]"), nil))
}

// TestProjectMemory: a projection allocates what it returns, an eighth more and
// a sixteenth of the document.
func TestProjectMemory(t *testing.T) {
	for _, tt := range []struct {
		file string
		p    Project
	}{
		{"flights.json", Project{Fields: []string{"date", "delay", "distance", "origin", "destination"}}},
		{"flights.json", Project{Fields: []string{"delay"}}},
		{"flights.json", Project{Exclude: []string{"date"}}},
		{"webhooks.json", Project{Fields: []string{"examples.sender"}}},
		{"webhooks.json", Project{Exclude: []string{"description"}}},
		{"webhooks.json", Project{}},
	} {
		data, err := corpus.Open(tt.file)
		if err != nil {
			t.Fatal(err)
		}
		v := doc.Recognise(data, nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := tt.p.Apply(context.Background(), v)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		got, most := after.TotalAlloc-before.TotalAlloc, len(out.Data)*9/8+len(data)/16+100_000
		if got > uint64(most) {
			t.Errorf("%s of %s: %d bytes allocated for %d; at most %d", &tt.p, tt.file, got, len(out.Data), most)
		}
	}
}

// TestProjectCancelled: a call ends where the document does not.
func TestProjectCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, input := range []string{strings.Repeat("[", 999) + strings.Repeat("]", 999), `{"a":"{\"b\":{\"c\":1}}","d":1}`, "{\"a\":{}}\n{\"a\":{}}"} {
		for _, p := range []*Project{{Fields: []string{"a.b.c"}}, {Exclude: []string{"a.b.c"}}, {Fields: []string{"a", "a.b"}, Exclude: []string{"a.b"}}} {
			if _, err := p.Apply(ctx, doc.Recognise([]byte(input), nil)); !errors.Is(err, context.Canceled) {
				t.Errorf("%s of %.20s, cancelled: %v", p, input, err)
			}
		}
	}
}

// sameProjection compares with the oracle: bytes, counts, note or error.
func sameProjection(t doctest.Fatal, p *Project, v doc.Value) {
	t.Helper()
	input := bytes.Clone(v.Data)
	got, gotErr := p.Apply(context.Background(), v)
	if !bytes.Equal(input, v.Data) {
		t.Fatalf("%s of %q changes the document", p, input)
	}
	want, wantErr := slowProject(context.Background(), p, v)
	if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Fatalf("%s of %s %q: error\n%v, want\n%v", p, v.Kind, v.Data, gotErr, wantErr)
	}
	if string(got.Data) != string(want.Data) {
		t.Fatalf("%s of %s %q:\n got %q\nwant %q", p, v.Kind, v.Data, got.Data, want.Data)
	}
	got.Data, want.Data = nil, nil
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s of %s %q:\n%s", p, v.Kind, v.Data, d)
	}
}
