package schema

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"rlmproxy/pipeline/doc"
)

// TestDescribed holds what is told of fields against data where it once was
// wrong.
func TestDescribed(t *testing.T) {
	inner := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"i%d":%d`, i, i)
		}
		return "{" + strings.TrimPrefix(b.String(), ",") + "}"
	}
	var maps strings.Builder
	for i := range 150 {
		fmt.Fprintf(&maps, `,"k%d":{"a":5000}`, i)
	}
	for _, tt := range []struct{ name, input, path, want string }{
		{"a map behind objects", "{" + maps.String()[1:] + `,"last":` + inner(600) + "}", "[][]", "{601 keys like \"a\", \"i0\", \"i1\"} → number, 0..5000, mean 1240"},
		{"integers beyond 2^53", `[{"n":9007199254740993},{"n":9007199254740992},{"n":9007199254740995}]`, "[].n", "number, 9007199254740992..9007199254740995"},
		{"negative ones", `[{"n":-9007199254740993},{"n":-9007199254740992}]`, "[].n", "number, -9007199254740993..-9007199254740992"},
		{"numbers beyond float64", `[{"n":1},{"n":1e400},{"n":3}]`, "[].n", "number, 1..3, and some beyond float64"},
		{"dates", `[{"d":"2024-01-02"},{"d":"2024-01-05"},{"d":"2024-01-03"},{"d":"2024-01-04"},{"d":"2023-01-02"}]`, "[].d", `string, "2023-01-02".."2024-01-05"`},
		{"few dates", `[{"d":"2024-01-02"},{"d":"2023-01-02"}]`, "[].d", `string, "2024-01-02" "2023-01-02"`},
		{"twenty short values", `[` + strings.Repeat(`"a","b","c","d","e","f","g","h","i","j",`, 2) + `"a"]`, "[]", `string, "a" ×3 "b" ×2 "c" ×2 "d" ×2 "e" ×2 "f" ×2 "g" ×2 "h" ×2 "i" ×2 "j" ×2`},
		{"an example of many", `["` + strings.Repeat("x", 80) + `","` + strings.Repeat("y", 80) + `"]`, "[]", `string, e.g. "xxxxxxxxxxxxxxxxxxxxxxx…"(80 bytes)`},
		{"numbers, of which one is frequent", `[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]`, "[]", "number, 21 distinct: 0 ×25 …, 0..20, mean 4.667"},
		{"two ways to write a date", `[{"d":"2024-12-31"},{"d":"2024/01/01"}]`, "[].d", `string, "2024-12-31" "2024/01/01"`},
		{"two zones", `[{"d":"2023-12-31T23:00:01Z"},{"d":"2024-01-01T00:00:00+14:00"}]`, "[].d", `string, "2023-12-31T23:00:01Z" "2024-01-01T00:00:00+14:00"`},
		{"a key twice", `[{"a":1,"a":2},{"b":1}]`, "[].a", "number, in 50%, 1..2"},
		{"no mean of nothing", `[` + strings.Repeat(`0.1,0.2,-0.3,`, 20) + `0]`, "[]", "number, 0.1 ×20 0.2 ×20 -0.3 ×20 0"},
	} {
		v := doc.Recognise([]byte(tt.input), nil)
		root, err := Survey(context.Background(), v, Depth)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		root.Walk(nil, func(at doc.Path, node, parent *Node) bool {
			if at.String() == tt.path {
				got = Describe(at, node, parent)
			}
			return true
		})
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
