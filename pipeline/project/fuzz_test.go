package project

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
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
		check(t, p, doc.Recognise(input, nil))
		// jq also makes scalars, and lines of them.
		if jsonscan.Valid(input, doc.MaxDepth) {
			check(t, p, doc.Counted(doc.JSON, input, nil))
		}
		for line := range jsonscan.Lines(input) {
			if !jsonscan.Valid(line, doc.MaxDepth) {
				return
			}
		}
		check(t, p, doc.Counted(doc.JSONLines, input, nil))
	})
}

func fuzzPaths(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// TestProjectCancelled: a call ends where the document does not.
func TestProjectCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, input := range []string{strings.Repeat("[", 999) + strings.Repeat("]", 999), "[" + strings.Repeat(`{"a":"{\"b\":{\"c\":1}}","d":1},`, 2000) + "{}]", strings.Repeat("{\"a\":{}}\n", 2000)} {
		for _, p := range []*Project{{Fields: []string{"a.b.c"}}, {Exclude: []string{"a.b.c"}}, {Fields: []string{"a", "a.b"}, Exclude: []string{"a.b"}}} {
			if _, err := p.Apply(ctx, doc.Recognise([]byte(input), nil)); !errors.Is(err, context.Canceled) {
				t.Errorf("%s of %.20s, cancelled: %v", p, input, err)
			}
		}
	}
}

// check holds what is promised of any projection: the document stays as it is, and
// what is left of it is JSON, no longer than it was.
func check(t *testing.T, p *Project, v doc.Value) {
	t.Helper()
	before := bytes.Clone(v.Data)
	out, err := p.Apply(context.Background(), v)
	if e := (*doc.Error)(nil); err != nil && !errors.As(err, &e) {
		t.Fatalf("%s of %q: %v", p, v.Data, err)
	}
	if !bytes.Equal(before, v.Data) {
		t.Fatalf("%s of %q changes the document", p, before)
	}
	if v.Kind != doc.Text && len(out.Data) > len(v.Data)+1 {
		t.Fatalf("%s of %q is longer: %q", p, v.Data, out.Data)
	}
	switch out.Kind {
	case doc.JSON:
		if len(out.Data) > 0 && !jsonscan.Valid(out.Data, doc.MaxDepth) {
			t.Fatalf("%s of %q: %q", p, v.Data, out.Data)
		}
	case doc.JSONLines:
		for line := range jsonscan.Lines(out.Data) {
			if !jsonscan.Valid(line, doc.MaxDepth) {
				t.Fatalf("%s of %q: %q", p, v.Data, out.Data)
			}
		}
	}
}
