package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/pipeline/show"
)

// rows joins what row makes of 0 to n-1.
func rows(n int, row func(i int) string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = row(i)
	}
	return "[" + strings.Join(out, ",") + "]"
}

func TestStandouts(t *testing.T) {
	at := func(i, n int, odd, usual string) string {
		if i == n {
			return odd
		}
		return usual
	}
	for _, tt := range []struct{ name, doc, want string }{
		{"alike", rows(100, func(i int) string { return fmt.Sprintf(`{"id":%d,"s":"x"}`, i) }), ""},
		{"few", rows(10, func(i int) string { return at(i, 3, `{"x":1}`, `{"y":1}`) }), ""},
		{"rare field", rows(100, func(i int) string { return at(i, 30, `{"a":1,"note":2}`, `{"a":1}`) }), "30 has note"},
		{"rare value", rows(100, func(i int) string { return at(i, 30, `{"s":"b"}`, `{"s":"a"}`) }), `30 s "b"`},
		{"error", rows(100, func(i int) string { return at(i%10, 3, `{"s":"failed"}`, `{"s":"done"}`) }), `3 s "failed"`},
		{"error field", rows(100, func(i int) string { return at(i, 44, `{"error":"no route"}`, `{"error":null}`) }), "44 error"},
		{"no error", rows(100, func(i int) string { return `{"errors":[]}` }), ""},
		{"extremes", rows(100, func(i int) string {
			return fmt.Sprintf(`{"v":%d}`, []int{i%5 + 50, -4000, 9000}[max(i-97, 0)])
		}), "99 max v|98 min v"},
		{"ids are no extremes", rows(100, func(i int) string { return fmt.Sprintf(`{"id":%d}`, i*i*i) }), ""},
		{"other type", rows(100, func(i int) string { return at(i, 7, `null`, `{"a":1}`) }), "7 null"},
		{"large", rows(100, func(i int) string { return at(i, 7, show.Quote(strings.Repeat("x", 900)), `"abc"`) }), "7 largest"},
		{"below", rows(100, func(i int) string { return at(i, 7, `{"a":{"s":"b"}}`, `{"a":{"s":"a"}}`) }), `7 a.s "b"`},
		{"two reasons", rows(100, func(i int) string { return at(i, 7, `{"s":"error","n":1}`, `{"s":"ok"}`) }), `7 s "error", has n`},
	} {
		v := Recognise([]byte(tt.doc), nil)
		root, err := survey(context.Background(), v, surveyDepth)
		if err != nil {
			t.Fatal(err)
		}
		l, ok := mainListing(v, root)
		if !ok {
			t.Fatalf("%s: no records", tt.name)
		}
		var got []string
		for _, o := range standouts(l) {
			got = append(got, fmt.Sprintf("%d %s", o.n, o.why))
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
		values := rapid.SliceOfN(genDoc(), 1, 12).Draw(t, "values")
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
		described := func(doc string, top func(*shape) *shape) []string {
			root, err := survey(context.Background(), Value{Kind: JSON, Data: []byte(doc)}, 5)
			if err != nil {
				t.Fatal(err)
			}
			sh := top(root)
			lines := []string{fmt.Sprint(sh.count, sh.bytes, sh.kinds, sh.minItems, sh.maxLen)}
			sh.walk(nil, func(at Path, sh, parent *shape) bool {
				lines = append(lines, at.String()+" "+describe(at, sh, parent))
				return true
			})
			return lines
		}
		got := described("{"+object.String()+"}", func(sh *shape) *shape { return sh.rest })
		want := described("["+array.String()+"]", func(sh *shape) *shape { return sh.items })
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s\n%s", d, object.String())
		}
	})
}

func TestPreviewForms(t *testing.T) {
	lines := strings.Repeat("a line of text\n", 200)
	tree := `{"name":"a","type":"dir","children":` + rows(301, func(i int) string {
		if i == 300 {
			return `{"name":"d","type":"file"}`
		}
		return fmt.Sprintf(`{"name":"b%d","type":"dir","children":[{"name":"c","type":"dir","children":[]}]}`, i)
	}) + "}"
	for _, tt := range []struct {
		name, doc string
		part      Part
		want      []string
		next      string
	}{
		{"text inside", `{"path":"x.txt","content":` + show.Quote(lines) + `}`, Part{0, 200, "lines"},
			[]string{`path: "x.txt"`, "content is text:", "1: a line of text"},
			`proxy_filter {"cache_id":"id","jq":".content","format":"text"}`},
		{"JSON in a string", `{"result":` + show.Quote(rows(300, func(i int) string { return fmt.Sprintf(`{"id":%d,"s":"x"}`, i) })) + `}`, Part{5, 300, "items"},
			[]string{"result|fromjson|.[].id: number, 0..299", `result|fromjson|.[299] {"id":299,"s":"x"}`},
			`proxy_filter {"cache_id":"id","jq":".result|fromjson|.[] | {id, s}"}`},
		{"map", "{" + strings.Trim(rows(2000, func(i int) string { return fmt.Sprintf(`"k%d":{"s":"ok","n":%d}`, i, i) }), "[]") + "}", Part{2, 2000, "fields"},
			[]string{`[]: {2,000 keys like "k0", "k1", "k2"} → object`, "[].n: number, 0..1999", `keys: "k0" "k1" `, `k1999 {"s":"ok","n":1999}`},
			`proxy_filter {"cache_id":"id"}`},
		{"tree", tree, Part{5, 301, "items"},
			[]string{`name: "a"`, "children: array, 301 items", `children[].type: string, "dir" ×300 "file"`, "children[].children[]?: object, with the fields of .children[] again", `children[300] (type "file") {"name":"d","type":"file"}`},
			`proxy_filter {"cache_id":"id","jq":"[.. | objects | select(.type == \"file\")] | length"}`},
		{"CSV", "id,state\n" + strings.Repeat("1,open\n", 900) + "2,failed\n", Part{5, 901, "rows"},
			[]string{"CSV, 901 rows", "[].id: number, 1 ×900 2", `[].state: string, "open" ×900 "failed"`, "rows: id|state", "[0] 1|open", `[900] (max id, state "failed") 2|failed`},
			`proxy_filter {"cache_id":"id","jq":"[.[] | select(.state == \"failed\") | {id, state}]"}`},
		{"top N", rows(900, func(i int) string { return fmt.Sprintf(`{"id":%d,"v":%d}`, i, i*7919%1000) }), Part{5, 900, "items"},
			[]string{"[].v: number, 0..999, mean "},
			`proxy_filter {"cache_id":"id","jq":"[.[]] | sort_by(-.v)[:10] | map({id, v})"}`},
		{"dates", rows(900, func(i int) string { return fmt.Sprintf(`{"at":"2024-0%d-01T00:00:00Z"}`, i%9+1) }), Part{5, 900, "items"},
			[]string{`[].at: string, 9 distinct: "2024-01-01T00:00:00Z" ×100`}, ""},
	} {
		v := Recognise([]byte(tt.doc), memoMap())
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
		if calls := NextCalls(v, "id"); tt.next != "" && calls[0] != tt.next {
			t.Errorf("%s: next %s, want %s", tt.name, calls[0], tt.next)
		}
	}
}
