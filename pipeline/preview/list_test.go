package preview

import (
	"fmt"
	"strings"
	"testing"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/schema"
)

// TestOnlyObject: the rows of an only object are what a document lists, as of a
// server that answers with one statement and its rows; what has several, or one
// without such a part, is listed itself.
func TestOnlyObject(t *testing.T) {
	var rows []string
	for i := range 200 {
		rows = append(rows, fmt.Sprintf(`{"no":%d,"pay":%d}`, i%50, 40000+i*7919%9973))
	}
	list := "[" + strings.Join(rows, ",") + "]"
	for _, tt := range []struct {
		input, at string
		n         int
	}{
		{`{"data":{"statements":[{"sql":"select","rows":` + list + `}]}}`, "data.statements[0].rows", 200},
		{`[{"rows":` + list + `}]`, "[0].rows", 200},
		{`[[{"rows":` + list + `}]]`, "", 1},
		{`{"a":[{"b":[{"rows":` + list + `}]}]}`, "a[0].b[0].rows", 200},
		{`{"a":[{"rows":` + list + `},{"rows":` + list + `}]}`, "a", 2},
		{`{"a":[{"x":1,"y":"` + strings.Repeat("z", 2000) + `"}]}`, "a", 1},
		{`{"a":[{"x":[]}]}`, "a", 1},
	} {
		v := doc.Recognise([]byte(tt.input), nil)
		root, err := schema.Survey(t.Context(), v, schema.Depth)
		if err != nil {
			t.Fatal(err)
		}
		l, ok := schema.MainList(v, root)
		if !ok || l.At.String() != tt.at || l.N != tt.n {
			t.Errorf("%.60s: %v %q of %d, want %q of %d", tt.input, ok, l.At, l.N, tt.at, tt.n)
		}
	}
}
