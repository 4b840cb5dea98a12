package pipeline

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestHide(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fields []string
		in     string
		want   string
	}{
		{"at the top", []string{"a"}, `{"a":1,"b":2}`, `{"b":2}`},
		{"the last", []string{"b"}, `{"a":1,"b":2}`, `{"a":1}`},
		{"all", []string{"a", "b"}, `{"a":1,"b":2}`, `{}`},
		{"at any depth", []string{"key"}, `{"rows":[{"id":1,"key":"k"},{"x":{"key":[1]}}]}`, `{"rows":[{"id":1},{"x":{}}]}`},
		{"only below", []string{"user.key"}, `{"key":1,"user":[{"key":2,"x":{"key":3}}]}`, `{"key":1,"user":[{"x":{"key":3}}]}`},
		{"arrays may be spelt out", []string{"user[].key"}, `{"user":[{"key":2}]}`, `{"user":[{}]}`},
		{"in a string", []string{"key"}, `{"text":"{\"key\":1,\"id\":2}"}`, `{"text":"{\"id\":2}"}`},
		{"the document is a string", []string{"key"}, `"{\"key\":1,\"id\":2}"`, `"{\"id\":2}"`},
		{"escaped key", []string{"key"}, `{"k\u0065y":1,"id":2}`, `{"id":2}`},
		{"twice", []string{"key"}, `{"key":1,"key":2}`, `{}`},
		{"JSON Lines", []string{"key"}, "{\"key\":1}\n{\"id\":2}\n", "{}\n{\"id\":2}\n"},
		{"CSV", []string{"key"}, "id,key\n1,k\n2,l\n", "{\"id\":1}\n{\"id\":2}\n"},
		{"spelling stays", []string{"key"}, `{"n": 1.0, "key":1, "m": {"x": 1e2} }`, `{"n": 1.0,"m":{"x": 1e2}}`},
		{"nothing to hide", []string{"key"}, `{ "n" : 1.0 }`, `{ "n" : 1.0 }`},
		{"text", []string{"key"}, "key: 1", "key: 1"},
	} {
		h, err := NewHide(tt.fields)
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.Document(context.Background(), []byte(tt.in))
		if d := cmp.Diff(tt.want, string(got)); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", tt.name, err, d)
		}
	}
	for _, bad := range []string{"", "[]", "[0].a", "a..b"} {
		if _, err := NewHide([]string{bad}); err == nil {
			t.Errorf("hide %q is accepted", bad)
		}
	}
	h, _ := NewHide([]string{"key"})
	if _, err := h.Document(context.Background(), []byte(strings.Repeat("[", 2000)+`{"key":1}`+strings.Repeat("]", 2000))); err == nil {
		t.Error("a hidden field that is nested too deep is shown")
	}
}

// TestHideFindsAll compares with a walk over the decoded tree.
func TestHideFindsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := genDoc().Draw(t, "doc")
		key := rapid.SampledFrom([]string{"a", "a.b", "j"}).Draw(t, "key")
		h, err := NewHide([]string{Path{{Key: key}}.String()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.Document(context.Background(), doc)
		if err != nil {
			t.Fatal(err)
		}
		want := without(entered(decode(t, doc)), key)
		if d := cmp.Diff(want, entered(decode(t, got))); d != "" {
			t.Fatalf("%s without %s is %s\n%s", doc, key, got, d)
		}
	})
}

func without(tree any, key string) any {
	switch v := tree.(type) {
	case []any:
		for i := range v {
			v[i] = without(v[i], key)
		}
	case map[string]any:
		delete(v, key)
		for k := range v {
			v[k] = without(v[k], key)
		}
	}
	return tree
}
