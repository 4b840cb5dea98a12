// Package doctest draws documents for tests of the pipeline, and reads them the
// slow way that tests compare with.
package doctest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"rlmproxy/pipeline/doc"
)

// GenTree draws documents with few keys, so that paths meet, and with what
// is awkward in keys and numbers.
func GenTree(depth int) *rapid.Generator[any] {
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
	list := rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return GenTree(depth - 1) }), 0, 4), func(l []any) any { return l })
	object := rapid.Map(rapid.MapOfN(keys, rapid.Deferred(func() *rapid.Generator[any] { return GenTree(depth - 1) }), 0, 4), func(m map[string]any) any { return m })
	return rapid.OneOf(scalar, list, object, object)
}

// GenDoc draws JSON text, some of it indented.
func GenDoc() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		tree := rapid.SliceOfN(GenTree(3), 0, 5).Draw(t, "tree")
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

// GenRows draws an array of flat objects.
func GenRows() *rapid.Generator[[]byte] {
	keys := rapid.SampledFrom([]string{"a", "b", "a.b", "", "ü", "a|b", "1"})
	return rapid.Map(rapid.SliceOfN(rapid.MapOfN(keys, GenTree(0), 0, 4), 2, 5), func(rows []map[string]any) []byte {
		b, _ := json.Marshal(rows)
		return b
	})
}

func Decode(t interface{ Fatal(...any) }, data []byte) any {
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

// MemoMap is a Memo as simple as can be.
func MemoMap() doc.Memo {
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

type stage interface {
	Apply(ctx context.Context, in doc.Value) (doc.Value, error)
	String() string
}

func Apply(t *testing.T, s stage, text string) doc.Value {
	t.Helper()
	out, err := s.Apply(context.Background(), doc.Recognise([]byte(text), MemoMap()))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return out
}

// ApplyError returns the Error that s must give.
func ApplyError(t *testing.T, s stage, text string) *doc.Error {
	t.Helper()
	out, err := s.Apply(context.Background(), doc.Recognise([]byte(text), nil))
	var e *doc.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: %q, %v; want an *Error", s, out.Data, err)
	}
	return e
}
