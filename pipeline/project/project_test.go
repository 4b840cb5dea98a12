package project

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
)

func TestProject(t *testing.T) {
	for _, tt := range []struct{ fields, exclude, in, want, note string }{
		{"a", "", `{"b":1, "a": 2}`, `{"a":2}`, ""},
		{"b,a", "", `{"a":1.0,"b":9007199254740993,"c":3}`, `{"a":1.0,"b":9007199254740993}`, ""},
		{"a", "", `[{"a":1,"b":2},{"b":3}]`, `[{"a":1},{}]`, "1 of 2 records lack .a"},
		{"items.user.name", "", `{"n":1,"items":[{"user":{"name":"x","id":1}},{"user":null}]}`, `{"items":[{"user":{"name":"x"}},{}]}`, ""},
		{"items[1].id", "", `{"items":[{"id":1},{"id":2}]}`, `{"items":[{"id":2}]}`, ""},
		{"[].id", "", `[{"id":1,"x":2}]`, `[{"id":1}]`, ""},
		{"m[].id", "", `{"m":{"k1":{"id":1,"x":2},"k2":{"id":3}}}`, `{"m":{"k1":{"id":1},"k2":{"id":3}}}`, ""},
		{`items["a.b"].c`, "", `{"items":{"a.b":{"c":1,"d":2}}}`, `{"items":{"a.b":{"c":1}}}`, ""},
		{"a,a.b", "", `{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":2}}`, ""},
		{"a.b", "", `{"a":[[{"b":1}],{"b":2},3]}`, `{"a":[[{"b":1}],{"b":2}]}`, ""},
		{"ü", "", `{"\u00fc":1,"x":2}`, `{"\u00fc":1}`, ""},
		{"", "a", `{"a":1,"b":[1, 2]}`, `{"b":[1,2]}`, ""},
		{"", "items.id", `{"items":[{"id":1,"x":"a b"},7]}`, `{"items":[{"x":"a b"},7]}`, ""},
		{"a", "a.b", `{"a":{"b":1,"c":2},"d":3}`, `{"a":{"c":2}}`, ""},
		{"", "", `{"a" : [ 1 ]}`, `{"a":[1]}`, ""},
		{"a", "", "{\"a\":1,\"b\":2}\n{\"b\":3}\n", "{\"a\":1}\n{}\n", "1 of 2 records lack .a"},
		{"", "[0]", "{\"a\":1}\n{\"b\":3}\n", "{\"b\":3}\n", ""},
		{"a", "", `[]`, `[]`, ""},
		{"payload.user", "", `{"payload":"{\"user\":1,\"x\":2}"}`, `{"payload":{"user":1}}`, ""},
		{"payload|fromjson|.user?", "", `{"payload":"{\"user\":1,\"x\":2}"}`, `{"payload":{"user":1}}`, ""},
		{"payload|fromjson", "", `{"payload":"{\"user\": 1}","x":2}`, `{"payload":"{\"user\": 1}"}`, ""},
		{"payload,payload.user", "", `{"payload":"{\"user\": 1}","x":2}`, `{"payload":"{\"user\": 1}"}`, ""},
		{"payload.user", "", `[{"payload":"{\"user\":1}"},{"payload":"{\"x\":1}"},{"payload":"{"},{"payload":null}]`, `[{"payload":{"user":1}},{"payload":{}},{},{}]`, "1 of 2 records lack .payload.user"},
		{"a.b.c", "", `{"a":"{\"b\":\"[{\\\"c\\\":1.0,\\\"d\\\":2}]\"}"}`, `{"a":{"b":[{"c":1.0}]}}`, ""},
		{"a", "", `["{\"a\":1,\"b\":2}",{"a":3}]`, `[{"a":1},{"a":3}]`, ""},
		{"", "payload.user", `{"payload":"{\"user\":1, \"x\":2}"}`, `{"payload":{"x":2}}`, ""},
		{"", "p|fromjson|.user", `[{"p":"{\"user\":1}"},{"p":"{ \"x\": 1}"},{"p":"{"}]`, `[{"p":{}},{"p":"{ \"x\": 1}"},{"p":"{"}]`, ""},
		{"", "a.b.c", `[{"a":"{\"b\":\"{\\\"c\\\": 1}\", \"e\": \"{ }\"}"}]`, `[{"a":{"b":{},"e":"{ }"}}]`, ""},
		{"tags?[]?.id?", "", `{"tags":[{"id":1,"x":2},7]}`, `{"tags":[{"id":1}]}`, ""},
		{"", "a,[1]", `[[null,[]]]`, `[[null,[]]]`, ""},
		{"a", "b", `{"a":1,"b":2}`, `{"a":1}`, ""},
		{"a", "a", `{"a":1,"b":2}`, `{}`, ""},
	} {
		p := &Project{Fields: split(tt.fields), Exclude: split(tt.exclude)}
		got := doctest.Apply(t, p, tt.in)
		if string(got.Data) != tt.want || got.Note != tt.note {
			t.Errorf("%s of %s:\n got %s (%s)\nwant %s (%s)", p, tt.in, got.Data, got.Note, tt.want, tt.note)
		}
	}
}

// TestCommas: paths that an agent wrote into one string.
func TestCommas(t *testing.T) {
	for _, tt := range []struct{ fields, in, want string }{
		{"a, b", `{"a":1,"b":2,"c":3}`, `{"a":1,"b":2}`},
		{"r[].a,r[].b", `{"r":[{"a":1,"b":2,"c":3}]}`, `{"r":[{"a":1,"b":2}]}`},
		{"a,b", `{"a":1,"b":2,"a,b":3}`, `{"a,b":3}`},
	} {
		if got := doctest.Apply(t, &Project{Fields: []string{tt.fields}}, tt.in); string(got.Data) != tt.want {
			t.Errorf("%s of %s: %s, want %s", tt.fields, tt.in, got.Data, tt.want)
		}
	}
	e := doctest.ApplyError(t, &Project{Fields: []string{"a,x"}}, `{"a":1}`)
	if !strings.Contains(e.Text, `a,x`) {
		t.Error(e)
	}
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func TestProjectErrors(t *testing.T) {
	const input = `{"items":[{"user":{"name":"x"},"id":1}]}`
	for _, tt := range []struct{ field, text, hint string }{
		{"items.user.nmae", "no field items.user.nmae", "items[].user.name"},
		{"name", "no field name", "items[].user.name"},
		{"items[7].id", "no field items[7].id", "items[].id"},
		{"a..b", "empty key", "items.user.name"},
	} {
		e := doctest.ApplyError(t, &Project{Fields: []string{tt.field}}, input)
		if e.Code != doc.BadArguments || !strings.Contains(e.Text, tt.text) || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%s: %v", tt.field, e)
		}
	}
	doctest.ApplyError(t, &Project{Fields: []string{"a"}}, "plain text")
}

// TestProjectReference compares with a projection of decoded values.
func TestProjectReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := doctest.GenDoc().Draw(t, "doc")
		step := rapid.SampledFrom([]string{"a", "b", "c", `["a.b"]`, "[]", "[0]", "[1]"})
		paths := rapid.SliceOfN(rapid.SliceOfN(step, 1, 3), 1, 3).Draw(t, "paths")
		exclude := rapid.Bool().Draw(t, "exclude")
		p := &Project{}
		var parsed []doc.Path
		for _, steps := range paths {
			path, err := doc.ParsePath(strings.ReplaceAll(strings.Join(steps, "."), ".[", "["))
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, path)
			if exclude {
				p.Exclude = append(p.Exclude, path.String())
			} else {
				p.Fields = append(p.Fields, path.String())
			}
		}
		out, err := p.Apply(context.Background(), doc.Recognise(input, nil))
		if e := (*doc.Error)(nil); errors.As(err, &e) {
			return // a path is nowhere
		} else if err != nil {
			t.Fatal(err)
		}
		var want any
		if exclude {
			want = doctest.NaiveExclude(doctest.Decode(t, input), parsed)
		} else {
			want = doctest.NaiveInclude(doctest.Decode(t, input), parsed)
		}
		if d := cmp.Diff(want, doctest.Decode(t, out.Data)); d != "" {
			t.Fatalf("%s of %s:\n%s", p, input, d)
		}
	})
}

func TestProjectKeepsSpelling(t *testing.T) {
	in := `{"z":1.50,"a":[1e3,-0,{"k":"\u00e9\/"}],"big":123456789012345678901234567890}`
	got := doctest.Apply(t, &Project{Fields: []string{"z", "a", "big"}}, in)
	if string(got.Data) != in || !json.Valid(got.Data) {
		t.Errorf("got %s", got.Data)
	}
}
