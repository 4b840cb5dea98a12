package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// genTree draws documents with few keys, so that paths meet, and with what
// is awkward in keys and numbers.
func genTree(depth int) *rapid.Generator[any] {
	keys := rapid.SampledFrom([]string{"a", "b", "c", "a.b", "x y", `q"`, "", "ü", "a|b", "\\"})
	scalar := rapid.OneOf(
		rapid.SampledFrom([]any{nil, true, false, "", "x", "42", "null", "a|b", " pad ", "line\nline", "\x00", `{"j":1}`,
			json.Number("9007199254740993"), json.Number("1.0"), json.Number("-0"), json.Number("1e400")}),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Int(), func(n int) any { b, _ := json.Marshal(n); return json.Number(b) }),
	)
	if depth == 0 {
		return scalar
	}
	list := rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return genTree(depth - 1) }), 0, 4), func(l []any) any { return l })
	object := rapid.Map(rapid.MapOfN(keys, rapid.Deferred(func() *rapid.Generator[any] { return genTree(depth - 1) }), 0, 4), func(m map[string]any) any { return m })
	return rapid.OneOf(scalar, list, object, object)
}

// genDoc draws JSON text, some of it indented.
func genDoc() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		tree := rapid.SliceOfN(genTree(3), 0, 5).Draw(t, "tree")
		b, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "indented") {
			var out bytes.Buffer
			_ = json.Indent(&out, b, "", "\t")
			b = out.Bytes()
		}
		return b
	})
}

// genRows draws an array of flat objects.
func genRows() *rapid.Generator[[]byte] {
	keys := rapid.SampledFrom([]string{"a", "b", "a.b", "", "ü", "a|b", "1"})
	return rapid.Map(rapid.SliceOfN(rapid.MapOfN(keys, genTree(0), 0, 4), 2, 5), func(rows []map[string]any) []byte {
		b, _ := json.Marshal(rows)
		return b
	})
}

func decode(t interface{ Fatal(...any) }, data []byte) any {
	tree, err := decodeTree(data)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// decodeTree keeps numbers as they are spelt.
func decodeTree(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// memoMap is a Memo as simple as can be.
func memoMap() Memo {
	var mu sync.Mutex
	kept := map[string]any{}
	return func(key string, build func() (any, int64, error)) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		if v, ok := kept[key]; ok {
			return v, nil
		}
		v, _, err := build()
		if err == nil {
			kept[key] = v
		}
		return v, err
	}
}

func apply(t *testing.T, s Stage, doc string) Value {
	t.Helper()
	out, err := s.Apply(context.Background(), Recognise([]byte(doc), memoMap()))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return out
}

// applyError returns the Error that s must give.
func applyError(t *testing.T, s Stage, doc string) *Error {
	t.Helper()
	out, err := s.Apply(context.Background(), Recognise([]byte(doc), nil))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: %q, %v; want an *Error", s, out.Data, err)
	}
	return e
}
