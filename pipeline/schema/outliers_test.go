package schema

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/show"
)

func TestStandouts(t *testing.T) {
	at := func(i, n int, odd, usual string) string {
		if i == n {
			return odd
		}
		return usual
	}
	for _, tt := range []struct{ name, input, want string }{
		{"alike", doctest.GenRecords(100, func(i int) string { return fmt.Sprintf(`{"id":%d,"s":"x"}`, i) }), ""},
		{"few", doctest.GenRecords(10, func(i int) string { return at(i, 3, `{"x":1}`, `{"y":1}`) }), ""},
		{"rare field", doctest.GenRecords(100, func(i int) string { return at(i, 30, `{"a":1,"note":2}`, `{"a":1}`) }), "30 has note"},
		{"rare value", doctest.GenRecords(100, func(i int) string { return at(i, 30, `{"s":"b"}`, `{"s":"a"}`) }), `30 s "b"`},
		{"error", doctest.GenRecords(100, func(i int) string { return at(i%10, 3, `{"s":"failed"}`, `{"s":"done"}`) }), `3 s "failed"`},
		{"error field", doctest.GenRecords(100, func(i int) string { return at(i, 44, `{"error":"no route"}`, `{"error":null}`) }), "44 error"},
		{"no error", doctest.GenRecords(100, func(i int) string { return `{"errors":[]}` }), ""},
		{"extremes", doctest.GenRecords(100, func(i int) string {
			return fmt.Sprintf(`{"v":%d}`, []int{i%5 + 50, -4000, 9000}[max(i-97, 0)])
		}), "99 max v|98 min v"},
		{"ids are no extremes", doctest.GenRecords(100, func(i int) string { return fmt.Sprintf(`{"id":%d}`, i*i*i) }), ""},
		{"other type", doctest.GenRecords(100, func(i int) string { return at(i, 7, `null`, `{"a":1}`) }), "7 null"},
		{"large", doctest.GenRecords(100, func(i int) string { return at(i, 7, show.Quote(strings.Repeat("x", 900)), `"abc"`) }), "7 largest"},
		{"the field to rank by", doctest.GenRecords(100, func(i int) string { return fmt.Sprintf(`{"rank":%d}`, i*7%100) }), "57 max rank"},
		{"below", doctest.GenRecords(100, func(i int) string { return at(i, 7, `{"a":{"s":"b"}}`, `{"a":{"s":"a"}}`) }), `7 a.s "b"`},
		{"two reasons", doctest.GenRecords(100, func(i int) string { return at(i, 7, `{"s":"error","n":1}`, `{"s":"ok"}`) }), `7 s "error", has n`},
	} {
		v := doc.Recognise([]byte(tt.input), nil)
		root, err := Survey(context.Background(), v, Depth)
		if err != nil {
			t.Fatal(err)
		}
		l, ok := MainList(v, root)
		if !ok {
			t.Fatalf("%s: no records", tt.name)
		}
		var got []string
		for _, o := range Outliers(l, "rank") {
			got = append(got, fmt.Sprintf("%d %s", o.N, o.Why))
		}
		if g := strings.Join(got, "|"); g != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, g, tt.want)
		}
	}
}

// TestMapsAreMerged: the values of an object that turns out to be a map are
// described as those of an array are.
func TestMapsAreMerged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(doctest.GenDoc(), 1, 12).Draw(t, "values")
		var object, array strings.Builder
		for i := range 130 {
			if i > 0 {
				object.WriteByte(',')
				array.WriteByte(',')
			}
			value := values[i*i%len(values)]
			fmt.Fprintf(&object, `"k%d":%s`, i, value)
			array.Write(value)
		}
		described := func(input string, top func(*Node) *Node) []string {
			root, err := Survey(context.Background(), doc.Value{Kind: doc.JSON, Data: []byte(input)}, 5)
			if err != nil {
				t.Fatal(err)
			}
			node := top(root)
			lines := []string{fmt.Sprint(node.Count, node.Bytes, node.Kinds, node.minItems, node.MaxLen)}
			node.Walk(nil, func(at doc.Path, node, parent *Node) bool {
				lines = append(lines, at.String()+" "+Describe(at, node, parent))
				return true
			})
			return lines
		}
		got := described("{"+object.String()+"}", func(node *Node) *Node { return node.Rest })
		want := described("["+array.String()+"]", func(node *Node) *Node { return node.Items })
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s\n%s", d, object.String())
		}
	})
}
