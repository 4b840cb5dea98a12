package query

import (
	"errors"
	"testing"

	"rlmproxy/pipeline/doc"
)

func TestJoin(t *testing.T) {
	var docs []doc.Value
	for i, text := range []string{`{"a": 1}`, "{\"b\":1}\n\n{\"b\":2}\n", "id,name\n1,x\n2,y\n3,z\n", "some\n\"text\"", `["[", "]"]`} {
		v := doc.Recognise([]byte(text), nil)
		v.Key = string(rune('k' + i))
		docs = append(docs, v)
	}
	got, err := Join(t.Context(), docs)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"a": 1},[{"b":1},{"b":2}],[{"id":1,"name":"x"},{"id":2,"name":"y"},{"id":3,"name":"z"}],"some\n\"text\"",["[", "]"]]`
	if string(got.Data) != want || got.Kind != doc.JSON || got.Items != 5 || got.Key != "k l m n o" {
		t.Errorf("%v %d %q: %s", got.Kind, got.Items, got.Key, got.Data)
	}
	docs[1].Key = ""
	if got, err = Join(t.Context(), docs[:3]); err != nil || got.Key != "" {
		t.Errorf("%q, %v: one of them has no key", got.Key, err)
	}
	large := doc.Value{Kind: doc.Text, Data: make([]byte, maxJoined/2+1)}
	if _, err := Join(t.Context(), []doc.Value{large, large}); !errors.As(err, new(*doc.Error)) {
		t.Error(err)
	}
}
