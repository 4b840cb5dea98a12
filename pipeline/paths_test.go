package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/bench/corpus"
	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/locate"
	"rlmproxy/pipeline/preview"
	"rlmproxy/pipeline/project"
	"rlmproxy/pipeline/query"
)

func TestNarrow(t *testing.T) {
	const csv = "id,name,city\n1,ann,Oslo\n2,bob,Rome\n"
	for _, tt := range []struct{ in, path, want, at string }{
		{`{"a":{"b":1}}`, "a.b", `1`, "a.b"},
		{`[{"a":1},{"a":2}]`, "a", `[1,2]`, "[].a"},
		{`[{"a":1},null,{}]`, "a", `[1]`, "[].a"},
		{`[{"a":1},3,{"a":2}]`, "a", `[1,2]`, "[].a?"},
		{`[{"a":[{"b":1}]},{}]`, "a.b", `[1]`, "[].a[]?.b"},
		{`[{"a":[{"b":1}]},{"a":{"b":2}}]`, "a.b", `[1,2]`, "[].a[].b?"},
		{`{"a":[1,"x",null,[2]]}`, "a[][]", `[2]`, "a[][]?"},
		{`{"a":[1]}`, "a?[0]?", `1`, "a[0]"},
		{`[{"a":[1]},{"a":7},{}]`, "a[0]", `[1]`, "[].a[0]?"},
		{`["x",[[{"a":1}]]]`, "[][0].a", `[1]`, "[][0]?[]?.a"},
		{`{"s":"{\"x\":1}"}`, "s", `{"x":1}`, "s|fromjson"},
		{`{"s":"{\"x\":1}"}`, "s|fromjson", `{"x":1}`, "s|fromjson"},
		{`{"s":"{\"x\":1}"}`, "s.x", `1`, "s|fromjson|.x"},
		{`{"s":"{\"x\":1}"}`, "s | fromjson? | .x?", `1`, "s|fromjson|.x"},
		{`{"s":{"x":1}}`, "s|fromjson|.x", `1`, "s.x"},
		{`{"s":"x"}`, "s|fromjson", `"x"`, "s"},
		{`[{"s":"{\"x\":1}"},{"s":{"x":2}},{"s":"z"}]`, "s.x", `[1,2]`, "[].s|fromjson?|.x"},
		{`[{"s":"{\"x\":1}"},{"s":"7"}]`, "s.x", `[1]`, "[].s|fromjson|.x?"},
		{`[{"s":"[1]"},{"s":"[2,3]"}]`, "s|fromjson", `[[1],[2,3]]`, "[].s|fromjson"},
		{`[{"s":"[1]"},{"s":"[2,3]"}]`, "s", `["[1]","[2,3]"]`, "[].s"},
		{`["{\"x\":\"{\\\"y\\\":[1]}\"}"]`, "x.y[]", `[1]`, "[]|fromjson|.x|fromjson|.y[]"},
		{`{"a b":"[{\"c d\":1}]"}`, `["a b"]["c d"]`, `[1]`, `["a b"]|fromjson|.[]["c d"]`},
		{"{\"a\":1}\n{\"a\":2}\n", "a", `[1,2]`, "[].a"},
		{"{\"a\":1}\n{\"a\":2}\n", "|fromjson|.[1].a", `2`, "[1].a"},
		{csv, "city", `["Oslo","Rome"]`, "[].city"},
		{csv, "[1].id", `2`, "[1].id"},
	} {
		path, err := doc.ParsePath(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		v := doc.Recognise([]byte(tt.in), doctest.MemoMap())
		got, err := locate.Find(context.Background(), v, path)
		if err != nil {
			t.Errorf("%s of %s: %v", tt.path, tt.in, err)
			continue
		}
		if string(got.Data) != tt.want || got.At.String() != tt.at {
			t.Errorf("%s of %s: %s at %s, want %s at %s", tt.path, tt.in, got.Data, got.At, tt.want, tt.at)
		}
		if _, err := (&query.JQ{Program: got.At.JQ()}).Apply(context.Background(), v); err != nil {
			t.Errorf("%s of %s: jq %s: %v", tt.path, tt.in, got.At.JQ(), err)
		}
	}
}

// TestNarrowString is about a document that is a string, which only another
// stage can hand on.
func TestNarrowString(t *testing.T) {
	v := doc.Value{Kind: doc.JSON, Data: []byte(` "{\"x\":[1,2]}"`)}
	for _, tt := range []struct{ path, want, at string }{
		{"", `{"x":[1,2]}`, "|fromjson"},
		{"|fromjson", `{"x":[1,2]}`, "|fromjson"},
		{"x[1]", `2`, "|fromjson|.x[1]"},
		{"|fromjson|.x", `[1,2]`, "|fromjson|.x"},
	} {
		path, err := doc.ParsePath(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := locate.Find(context.Background(), v, path)
		if err != nil || string(got.Data) != tt.want || got.At.String() != tt.at {
			t.Errorf("%q: %s at %q, %v; want %s at %q", tt.path, got.Data, got.At, err, tt.want, tt.at)
		}
		if out := answer(t, v, got.At.JQ()); out != tt.want {
			t.Errorf("jq %s: %s, want %s", got.At.JQ(), out, tt.want)
		}
	}
}

// A mould is what all values at one place of a document are alike in.
type mould struct {
	kind   byte // '{', '[', '"' for a string with JSON, 0 for a scalar
	keys   []string
	inside []*mould
}

func drawMould(t *rapid.T, depth int, container bool) *mould {
	m := &mould{}
	if container {
		m.kind = rapid.SampledFrom([]byte("{[")).Draw(t, "kind")
	} else if depth > 0 {
		m.kind = rapid.SampledFrom([]byte("{[\"\x00")).Draw(t, "kind")
	}
	switch m.kind {
	case '{':
		keys := rapid.SampledFrom([]string{"a", "b", "c", "a.b", "x y", `q"`, "", "ü", "a|b", "|fromjson", "b?", "if"})
		m.keys = rapid.SliceOfNDistinct(keys, 1, 3, rapid.ID).Draw(t, "keys")
		for range m.keys {
			m.inside = append(m.inside, drawMould(t, depth-1, false))
		}
	case '[', '"':
		m.inside = []*mould{drawMould(t, depth-1, m.kind == '"')}
	}
	return m
}

// draw is a document of this mould: arrays have an element at least.
func (m *mould) draw(t *rapid.T) any {
	switch m.kind {
	case '{':
		o := map[string]any{}
		for i, k := range m.keys {
			o[k] = m.inside[i].draw(t)
		}
		return o
	case '[':
		l := []any{}
		for range rapid.IntRange(1, 3).Draw(t, "len") {
			l = append(l, m.inside[0].draw(t))
		}
		return l
	case '"':
		b, err := json.Marshal(m.inside[0].draw(t))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return rapid.SampledFrom([]any{nil, true, "x", "7", `"y"`, json.Number("1.50"), json.Number("9007199254740993")}).Draw(t, "scalar")
}

// path is one that leads somewhere in every document of this mould.
func (m *mould) path(t *rapid.T) doc.Path {
	var p doc.Path
	for m.kind != 0 && (len(p) == 0 || rapid.IntRange(0, 4).Draw(t, "go on") > 0) {
		n := 0
		switch m.kind {
		case '{':
			n = rapid.IntRange(0, len(m.keys)-1).Draw(t, "key")
			p = append(p, doc.Step{Key: m.keys[n]})
		case '[':
			p = append(p, doc.Step{Kind: rapid.SampledFrom([]doc.StepKind{doc.StepEach, doc.StepEach, doc.StepIndex}).Draw(t, "step")})
		case '"':
			p = append(p, doc.Step{Kind: doc.StepJSON})
		}
		m = m.inside[n]
	}
	return p
}

// reached are the values at p in an entered tree, in document order.
func reached(tree any, p doc.Path) []any {
	if len(p) == 0 {
		return []any{tree}
	}
	switch v := tree.(type) {
	case []any:
		if p[0].Kind == doc.StepIndex {
			return reached(v[p[0].Index], p[1:])
		}
		var out []any
		for _, e := range v {
			out = append(out, reached(e, p[1:])...)
		}
		return out
	case map[string]any:
		return reached(v[p[0].Key], p[1:])
	}
	return nil
}

func withoutJSON(p doc.Path) doc.Path {
	var out doc.Path
	for _, s := range p {
		if s.Kind != doc.StepJSON {
			out = append(out, s)
		}
	}
	return out
}

// outputs are the values that a jq program gave, entered.
func outputs(t *rapid.T, v doc.Value) []any {
	if v.Kind == doc.JSON {
		return []any{doctest.Entered(doctest.Decode(t, v.Data))}
	}
	var out []any
	for line := range jsonscan.Lines(v.Data) {
		out = append(out, doctest.Entered(doctest.Decode(t, line)))
	}
	return out
}

// TestPathsWorkEverywhere: a path as it is written means the same in fields,
// in jq and as the path of an outline, whatever strings hold JSON.
func TestPathsWorkEverywhere(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMould(t, 4, true)
		if rapid.Bool().Draw(t, "in a string") {
			m = &mould{kind: '"', inside: []*mould{m}}
		}
		input, err := json.Marshal(m.draw(t))
		if err != nil {
			t.Fatal(err)
		}
		v := doc.Counted(doc.JSON, input, doctest.MemoMap())
		p := m.path(t)
		text := p.String()
		tree := doctest.Entered(doctest.Decode(t, input))
		want := reached(tree, withoutJSON(p))

		out, err := (&query.JQ{Program: "." + text}).Apply(ctx, v)
		if err != nil {
			t.Fatalf("jq .%s of %s: %v", text, input, err)
		}
		if d := cmp.Diff(want, outputs(t, out)); d != "" {
			t.Fatalf("jq .%s of %s:\n%s", text, input, d)
		}

		read, err := doc.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		at, err := locate.Find(ctx, v, read)
		if err != nil {
			t.Fatalf("path %s of %s: %v", text, input, err)
		}
		found := []any{doctest.Entered(doctest.Decode(t, at.Data))}
		if at.Many {
			found = found[0].([]any)
		}
		if d := cmp.Diff(want, found); d != "" {
			t.Fatalf("path %s of %s:\n%s", text, input, d)
		}
		// What is printed has the same value without any string entered by us.
		out, err = (&query.JQ{Program: at.At.JQ()}).Apply(ctx, v)
		if err != nil {
			t.Fatalf("path %s was said to be at %s of %s: %v", text, at.At, input, err)
		}
		if d := cmp.Diff(want, outputs(t, out)); d != "" {
			t.Fatalf("jq %s of %s:\n%s", at.At.JQ(), input, d)
		}
		if !at.Many && cmp.Diff(doctest.Decode(t, at.Data), doctest.Decode(t, out.Data)) != "" {
			t.Fatalf("jq %s of %s: %s, not %s", at.At.JQ(), input, out.Data, at.Data)
		}

		if out, err = (&project.Project{Fields: []string{text}}).Apply(ctx, v); err != nil {
			t.Fatalf("fields %s of %s: %v", text, input, err)
		}
		all := tree
		if mask := withoutJSON(p); len(mask) > 0 {
			all = doctest.NaiveInclude(tree, []doc.Path{mask})
		}
		if d := cmp.Diff(all, doctest.Entered(doctest.Decode(t, out.Data))); d != "" {
			t.Fatalf("fields %s of %s:\n%s", text, input, d)
		}

		if len(withoutJSON(p)) == 0 {
			return
		}
		if out, err = (&project.Project{Exclude: []string{text}}).Apply(ctx, v); err != nil {
			t.Fatalf("exclude %s of %s: %v", text, input, err)
		}
		if d := cmp.Diff(doctest.NaiveExclude(tree, []doc.Path{withoutJSON(p)}), doctest.Entered(doctest.Decode(t, out.Data))); d != "" {
			t.Fatalf("exclude %s of %s:\n%s", text, input, d)
		}
	})
}

// TestTryNeverFails: with ? behind each step, jq passes over whatever does
// not fit, and so does what narrow prints for a document of mixed types.
func TestTryNeverFails(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		input := doctest.GenDoc().Draw(t, "doc")
		steps := rapid.SampledFrom([]doc.Step{{Key: "a"}, {Key: "b"}, {Key: "a.b"}, {Key: "j"}, {Kind: doc.StepEach}, {Kind: doc.StepIndex}, {Kind: doc.StepIndex, Index: 1}, {Kind: doc.StepJSON}})
		p := doc.Path(rapid.SliceOfN(steps, 1, 5).Draw(t, "path"))
		v := doc.Recognise(input, nil)
		all := append(doc.Path(nil), p...)
		for i := range all {
			all[i].Try = true
		}
		if _, err := (&query.JQ{Program: all.JQ()}).Apply(ctx, v); err != nil {
			t.Fatalf("jq %s of %s: %v", all.JQ(), input, err)
		}
		at, err := locate.Find(ctx, v, p)
		if e := (*doc.Error)(nil); errors.As(err, &e) {
			return // it is nowhere
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := (&query.JQ{Program: at.At.JQ()}).Apply(ctx, v); err != nil {
			t.Fatalf("path %s was said to be at %s of %s: %v", p, at.At, input, err)
		}
		if _, err := locate.Find(ctx, v, at.At); err != nil {
			t.Fatalf("path %s was said to be at %s of %s: %v", p, at.At, input, err)
		}
	})
}

func TestNarrowErrors(t *testing.T) {
	for _, tt := range []struct{ in, path, text, hint string }{
		{"plain text", "a", "path needs JSON or a text made of records", "leave path out"},
		{"[1,2,3]", "[3]", "no item [3]: the list has 3 items", "the last [2]"},
		{`{"a":[{"b":[1,2]},{"b":[1]}]}`, "a[1].b[1]", "no item [1]: a[1].b has 1 item", "the last [0]"},
		{`{"a":[{"b":[]}]}`, "a.b[7]", "no item [7]: a[].b has 0 items", "leave path out"},
		{"id,name\n1,ann\n2,bob\n", "[2]", "no item [2]: the list has 2 items", "the last [1]"},
		{"id,name\n1,ann\n2,bob\n", "nmae", "no field nmae", "[].name"},
		{`{"items":[{"name":1}]}`, "items.nmae", "no field items.nmae", "items[].name"},
		{`{"` + strings.Repeat("k", 300) + `":{"a":1}}`, "b", "no field b", "proxy_explore"},
	} {
		e := doctest.ApplyError(t, &preview.Outline{Path: tt.path}, tt.in)
		if e.Code != doc.BadArguments || !strings.Contains(e.Text, tt.text) || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%s of %.40s: %v", tt.path, tt.in, e)
		}
	}
}

// TestHostileStrings nests strings with JSON in strings with JSON, each 900
// levels deep, which fields that imply arrays go through to the end.
func TestHostileStrings(t *testing.T) {
	inner := []byte(`{"a":1,"b":2}`)
	for range 9 {
		inner = jsonscan.AppendQuote(nil, string(inner))
		inner = append(append(bytes.Repeat([]byte{'['}, 900), inner...), bytes.Repeat([]byte{']'}, 900)...)
	}
	v := doc.Recognise(inner, nil)
	for _, s := range []Stage{&project.Project{Fields: []string{"a"}}, &project.Project{Exclude: []string{"a"}}, &project.Project{Fields: []string{"a", "[].a", "[0][0].a"}}, &preview.Outline{Path: "a"}, &preview.Outline{Path: "[0]|fromjson|.a"}} {
		out, err := s.Apply(context.Background(), v)
		if e := (*doc.Error)(nil); err != nil && !errors.As(err, &e) {
			t.Errorf("%s: %v", s, err)
		}
		if len(out.Data) > 10*len(inner) {
			t.Errorf("%s: %d bytes of %d", s, len(out.Data), len(inner))
		}
	}
}

// BenchmarkNarrow is for what finding the ? of a path adds.
func BenchmarkNarrow(b *testing.B) {
	for _, bb := range []struct{ file, path string }{
		{"flights.json", "delay"},
		{"webhooks.json", "examples.repository.owner.login"},
		{"zipcodes.csv", "city"},
	} {
		input, err := corpus.Open(bb.file)
		if err != nil {
			b.Fatal(err)
		}
		path, err := doc.ParsePath(bb.path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("body="+bb.file, func(b *testing.B) {
			v := doc.Recognise(input, doctest.MemoMap())
			b.SetBytes(int64(len(input)))
			for b.Loop() {
				if _, err := locate.Find(context.Background(), v, path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func answer(t *testing.T, in doc.Value, program string) string {
	out, err := (&query.JQ{Program: program}).Apply(context.Background(), in)
	if err != nil {
		t.Errorf("%s: %v", program, err)
	}
	return string(out.Data)
}
