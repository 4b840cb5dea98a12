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
		{"JSON in a string", `{"result":` + show.Quote(doctest.GenRecords(300, func(i int) string { return fmt.Sprintf(`{"id":%d,"s":"x"}`, i) })) + `}`, Part{1, 300, "items"},
			[]string{"result|fromjson|.[].id: number, 0..299", `result|fromjson|.[]: the same in all: s "x"`, `result|fromjson|.[0] {"id":0,"s":"x"}`}},
		{"map", "{" + strings.Trim(doctest.GenRecords(2000, func(i int) string { return fmt.Sprintf(`"k%d":{"s":"ok","n":%d}`, i, i) }), "[]") + "}", Part{1, 2000, "fields"},
			[]string{`[]: {2,000 keys like "k0", "k1", "k2"} → object`, "[].n: number, 0..1999", `keys: "k0" "k1" `, `k0 {"s":"ok","n":0}`}},
		{"tree", tree, Part{0, 3, ""},
			[]string{`a tree: 1 file in 601 folders, nested under "children"`, "a/ 1 file in 600 folders: d\n  b0/ 0 files in 1 folder\n", `name: "a"`, "children: array, 301 items", `children[].type: string, "dir" ×300 "file"`, "children[].children[]?: object, with the same fields as .children[]"}},
		{"tree with sizes", `{"ok":true,"tree":[` + strings.TrimSuffix(strings.Repeat(`{"name":"x.go","size":10},`, 90), ",") + `,{"name":"src","size":4096,"entries":[{"name":"a.go","size":7},{"name":"sub","entries":[{"name":"b.md","size":5}]}]}]}`, Part{0, 2, ""},
			[]string{`a tree: 92 files in 2 folders, 912 bytes, nested under "entries"; .go ×91 .md ×1`, "\nat the top: x.go x.go", "\nsrc/ 2 files in 1 folder, 12 bytes: a.go\n  sub/ 1 file, 5 bytes: b.md\n"}},
		{"rows and columns", `{"columns":["id","town"],"rows":[` + strings.TrimSuffix(strings.Repeat(`[1,"Oslo"],[2,"Rome"],`, 200), ",") + `]}`, Part{1, 400, "items"},
			[]string{"rows[][0]: id, number, 1 ×200 2 ×200\n", `rows[][1]: town, string, "Oslo" ×200 "Rome" ×200`}},
		{"keys that are alike", `{"a":{"x":1,"y":"` + strings.Repeat("to and fro ", 200) + `"},"b":{"x":2,"y":""},"c":{"x":3,"y":"z"},"d":{"x":4},"e":{"x":5,"y":"` + strings.Repeat("up and down ", 400) + `"}}`, Part{0, 5, "fields"},
			[]string{`[]: {5 keys like "a", "b", "c"} → object`, "[].x: number, 1..5"}},
		{"values of one object", `{"meta":{"took":12,"title":"all","pages":{"next":2}},"rows":` + doctest.GenRecords(300, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }) + `}`, Part{1, 300, "items"},
			[]string{"\nmeta: took 12, title \"all\"\nmeta.pages: next 2\nrows: array, 300 items, "}},
		{"what is the same, and addresses", doctest.GenRecords(300, func(i int) string {
			return fmt.Sprintf(`{"kind":"Pod","self":"https://example.com/%d","gone":null,"n":%d}`, i, i)
		}), Part{1, 300, "items"},
			[]string{"[].n: number, 0..299\n[]: the same in all: kind \"Pod\", gone null\n[]: addresses: self\n"}},
		{"CSV", "id,state\n" + strings.Repeat("1,open\n", 900) + "2,failed\n", Part{2, 901, "rows"},
			[]string{"CSV, 901 rows", "[].id: number, 1 ×900 2", `[].state: string, "open" ×900 "failed"`, "rows: id|state", "[0] 1|open", `[900] (max id, state "failed") 2|failed`}},
		{"top N", doctest.GenRecords(900, func(i int) string { return fmt.Sprintf(`{"id":%d,"v":%d}`, i, i*7919%1000) }), Part{2, 900, "items"},
			[]string{"[].v: number, 0..999, mean "}},
		{"dates", doctest.GenRecords(900, func(i int) string { return fmt.Sprintf(`{"at":"2024-0%d-01T00:00:00Z"}`, i%9+1) }), Part{1, 900, "items"},
			[]string{`[].at: string, "2024-01-01T00:00:00Z".."2024-09-01T00:00:00Z"`}},
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
