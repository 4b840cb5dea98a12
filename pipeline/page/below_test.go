package page

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
)

func TestBelow(t *testing.T) {
	items := "[" + strings.Repeat(`{"id":1},`, 40) + `{"id":2}]`
	for _, tt := range []struct{ in, at, around string }{
		{items, "", ""},
		{`{"ok":true,"data":` + items + `,"n":1}`, "data", `{"ok":true,"data":"… 41 items …","n":1}`},
		{`{"a": {"b": [{"c":` + items + `}]}}`, "a.b[0].c", `{"a": {"b": [{"c":"… 41 items …"}]}}`},
		{`{"a":"` + strings.ReplaceAll(items, `"`, `\"`) + `"}`, "a|fromjson", `{"a":"… 41 items …"}`},
		{`{"v":2,"map":{"x":` + items + `,"y":` + items + `}}`, "map", `{"v":2,"map":"… 2 fields …"}`},
		{`{"x":` + items + `,"y":` + items + `}`, "", ""},
		{`{"path":"a","text":"` + strings.Repeat("words ", 100) + `"}`, "", ""},
		{`[{"a":1,"b":2}]`, "", ""},
		{`{"a":1}`, "", ""},
		{`{}`, "", ""},
		{strings.Repeat(`{"a":`, 900) + items + strings.Repeat("}", 900), "", ""},
	} {
		w, ok := Below(doc.Recognise([]byte(tt.in), nil))
		if ok != (tt.at != "") || w.At.String() != tt.at && ok || string(w.Around) != tt.around && ok {
			t.Errorf("%.60s: %v %s %s", tt.in, ok, w.At, w.Around)
		}
	}
}

// TestBelowIsThere: a list is what stands at its path, and what is around it is the rest.
func TestBelowIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := doctest.GenDoc().Draw(t, "doc")
		if rapid.Bool().Draw(t, "wrapped") {
			data = append(append([]byte(`{"ok":1,"data":`), data...), '}')
		}
		v := doc.Recognise(data, nil)
		w, ok := Below(v)
		if !ok {
			return
		}
		if !jsonscan.IsContainer(w.Data) || w.Total == 0 {
			t.Fatalf("no list: %s", w.Data)
		}
		mark := []byte(`"… `)
		before, after, found := bytes.Cut(w.Around, mark)
		if !found || !jsonscan.Valid(w.Around, doc.MaxDepth) {
			t.Fatalf("around: %s", w.Around)
		}
		_, after, _ = bytes.Cut(after, []byte(` …"`))
		whole := append(append(bytes.Clone(before), w.Data...), after...)
		if !strings.Contains(w.At.String(), "fromjson") && !bytes.Equal(whole, bytes.TrimSpace(v.Data)) {
			t.Fatalf("%s and %s are not %s", w.Around, w.Data, v.Data)
		}
	})
}
