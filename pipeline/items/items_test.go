package items

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/pipeline/doc"
)

func TestDivide(t *testing.T) {
	for _, c := range []struct {
		name, kind, text string
		fields           []string
		want             string // the kind, and the texts
		with             string
	}{
		{"records", "", `[{"a": 1.0, "b":2},{"a":3}]`, nil, `record: {"a":1.0,"b":2} | {"a":3}`, `[{"a":1.0,"b":2,"x":0},{"a":3,"x":1}]`},
		{"fields are for the model alone", "", `[{"a":1,"b":2},{"a":3}]`, []string{"a"}, `record: {"a":1} | {"a":3}`, `[{"a":1,"b":2,"x":0},{"a":3,"x":1}]`},
		{"a list in an object", "", `{"n":2,"items":[{"a":{"t":"one and some more"}},{"a":{"t":"two and some more"}}]}`, []string{"items[].a.t"}, `record: {"a":{"t":"one and some more"}} | {"a":{"t":"two and some more"}}`,
			`[{"a":{"t":"one and some more"},"x":0},{"a":{"t":"two and some more"},"x":1}]`},
		{"JSON Lines", "", "{\"a\":1}\n\n{\"a\":2}\n", nil, `record: {"a":1} | {"a":2}`, `[{"a":1,"x":0},{"a":2,"x":1}]`},
		{"no objects", "", `["one",2]`, nil, `record: "one" | 2`, `[{"value":"one","x":0},{"value":2,"x":1}]`},
		{"CSV", "", "id,name\n1,ann\n2,bob\n3,eve\n", []string{"name"}, `record: {"name":"ann"} | {"name":"bob"} | {"name":"eve"}`, `[{"id":1,"name":"ann","x":0},{"id":2,"name":"bob","x":1},{"id":3,"name":"eve","x":2}]`},
		{"lines", "", "one\r\n \ntwo", nil, `line: one | two`, `[{"line":1,"text":"one","x":0},{"line":3,"text":"two","x":1}]`},
		{"lines of JSON", "line", "{\n\"a\": 1}", nil, `line: { | "a": 1}`, `[{"line":1,"text":"{","x":0},{"line":2,"text":"\"a\": 1}","x":1}]`},
		{"passages", "passage", "# One\n" + strings.Repeat("word ", 60) + "\n\n# Two\nend", nil, "passage: # One\n" + strings.Repeat("word ", 60) + " | # Two\nend",
			`[{"line":1,"text":"# One\n` + strings.Repeat("word ", 60) + `","x":0},{"line":4,"text":"# Two\nend","x":1}]`},
		{"the whole", "whole", `{"a":  1}`, nil, `whole: {"a":  1}`, `[{"x":0}]`},
		{"an empty list", "", `[]`, nil, "record: ", `[]`},
		{"an empty text", "", "", nil, "line: ", `[]`},
	} {
		l, err := Divide(t.Context(), doc.Recognise([]byte(c.text), nil), c.kind)
		if err == nil {
			err = l.Narrow(t.Context(), c.fields, nil)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, l.Kind+": "+strings.Join(l.Texts, " | ")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		answers := make([]Answer, len(l.Texts))
		for i := range answers {
			answers[i].Value = json.RawMessage([]byte{'0' + byte(i)})
		}
		if diff := cmp.Diff(c.with, strings.ReplaceAll(string(l.With("x", answers)), ",\n", ",")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestWith(t *testing.T) {
	data := []byte(`[{ "a":1 },{}]`)
	l, err := Divide(t.Context(), doc.Recognise(data, nil), "")
	if err != nil {
		t.Fatal(err)
	}
	got := l.With(`my "x"`, []Answer{{Value: []byte(`"y"`), Confidence: []byte("0.5")}, {}})
	if want := `[{"a":1,"my \"x\"":"y","my \"x\"_confidence":0.5},` + "\n" + `{"my \"x\"":null}]`; string(got) != want {
		t.Errorf("%s", got)
	}
	if string(data) != `[{ "a":1 },{}]` {
		t.Errorf("the document has become %s", data)
	}
	if !l.Has("a") || l.Has("b") {
		t.Error("wrong about fields")
	}
}

func TestNoItems(t *testing.T) {
	for _, c := range []struct {
		name, kind, text string
		fields           []string
		want             string
	}{
		{"no list", "", `{"a":"` + strings.Repeat("x", 100) + `"}`, nil, "not a list of records"},
		{"no records", "record", "some words\nand more", nil, "not made of records"},
		{"fields of lines", "", "some words\nand more", []string{"a"}, "fields and exclude are of records"},
		{"no such field", "", `[{"a":1}]`, []string{"b"}, "b"},
		{"fields of no objects", "", `[{"a":1},2]`, []string{"a"}, "no objects"},
		{"too many", "", strings.Repeat("x\n", Max+1), nil, "more than 50,000 lines"},
	} {
		l, err := Divide(t.Context(), doc.Recognise([]byte(c.text), nil), c.kind)
		if err == nil {
			err = l.Narrow(t.Context(), c.fields, nil)
		}
		var e *doc.Error
		if !errors.As(err, &e) || !strings.Contains(e.Text, c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
