package preview

import (
	"fmt"
	"strings"
	"testing"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/show"
)

func TestPreviewForms(t *testing.T) {
	lines := strings.Repeat("a line of text\n", 200)
	tree := `{"name":"a","type":"dir","children":` + doctest.GenRecords(301, func(i int) string {
		if i == 300 {
			return `{"name":"d","type":"file"}`
		}
		return fmt.Sprintf(`{"name":"b%d","type":"dir","children":[{"name":"c","type":"dir","children":[]}]}`, i)
	}) + "}"
	for _, tt := range []struct {
		name, input string
		part        Part
		want        []string
	}{
		{"text inside", `{"path":"x.txt","content":` + show.Quote(lines) + `}`, Part{0, 200, "lines"},
			[]string{`path: "x.txt"`, "content is text:", "1: a line of text"}},
		{"JSON in a string", `{"result":` + show.Quote(doctest.GenRecords(300, func(i int) string { return fmt.Sprintf(`{"id":%d,"s":"x"}`, i) })) + `}`, Part{5, 300, "items"},
			[]string{"result|fromjson|.[].id: number, 0..299", `result|fromjson|.[299] {"id":299,"s":"x"}`}},
		{"map", "{" + strings.Trim(doctest.GenRecords(2000, func(i int) string { return fmt.Sprintf(`"k%d":{"s":"ok","n":%d}`, i, i) }), "[]") + "}", Part{2, 2000, "fields"},
			[]string{`[]: {2,000 keys like "k0", "k1", "k2"} → object`, "[].n: number, 0..1999", `keys: "k0" "k1" `, `k1999 {"s":"ok","n":1999}`}},
		{"tree", tree, Part{5, 301, "items"},
			[]string{`name: "a"`, "children: array, 301 items", `children[].type: string, "dir" ×300 "file"`, "children[].children[]?: object, with the fields of .children[] again", `children[300] (type "file") {"name":"d","type":"file"}`}},
		{"CSV", "id,state\n" + strings.Repeat("1,open\n", 900) + "2,failed\n", Part{5, 901, "rows"},
			[]string{"CSV, 901 rows", "[].id: number, 1 ×900 2", `[].state: string, "open" ×900 "failed"`, "rows: id|state", "[0] 1|open", `[900] (max id, state "failed") 2|failed`}},
		{"top N", doctest.GenRecords(900, func(i int) string { return fmt.Sprintf(`{"id":%d,"v":%d}`, i, i*7919%1000) }), Part{5, 900, "items"},
			[]string{"[].v: number, 0..999, mean "}},
		{"dates", doctest.GenRecords(900, func(i int) string { return fmt.Sprintf(`{"at":"2024-0%d-01T00:00:00Z"}`, i%9+1) }), Part{5, 900, "items"},
			[]string{`[].at: string, 9 distinct: "2024-01-01T00:00:00Z" ×100`}},
	} {
		v := doc.Recognise([]byte(tt.input), doctest.MemoMap())
		text, part := Preview(v, 600)
		if tt.part.Shown == 0 {
			tt.part.Shown = part.Shown
		}
		if part != tt.part {
			t.Errorf("%s: %v, want %v", tt.name, part, tt.part)
		}
		for _, want := range tt.want {
			if !strings.Contains(string(text)+"\n", want) {
				t.Errorf("%s: no %s in\n%s", tt.name, want, text)
			}
		}
	}
}
