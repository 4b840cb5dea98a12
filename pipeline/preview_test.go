package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

func records1204() string {
	var b strings.Builder
	b.WriteString(`{"total":1204,"items":[`)
	for i := range 1204 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"state":"open","user":{"name":"user %d"},"body":"%s"}`, i, i, strings.Repeat("words ", i%200))
	}
	b.WriteString(`]}`)
	return b.String()
}

func TestPreviewJSON(t *testing.T) {
	v := Recognise([]byte(records1204()), nil)
	text, part := Preview(v, 1000)
	shown, total := part.Shown, part.Total
	got := string(text)
	if total != 1204 || shown < 3 || shown > 1000 {
		t.Errorf("%d of %d", shown, total)
	}
	for _, want := range []string{"JSON object of 2 fields", "items: array, 1,204 items", "total: 1204", "items[].id: number, 0..1203", `items[0] {"id":0`, "left out …", `items[1203] {"id":1203`, `state: string, "open" ×1,204`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestPreviewText(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "2024-01-02T03:04:05Z line %d\n", i+1)
	}
	text, part := Preview(Recognise([]byte(b.String()), nil), 500)
	shown, total := part.Shown, part.Total
	got := string(text)
	if total != 5000 || shown < 10 {
		t.Errorf("%d of %d", shown, total)
	}
	for _, want := range []string{"log, 5,000 lines", "1: 2024-01-02T03:04:05Z line 1\n", fmt.Sprintf("… %s left out …", show.Count(5000-shown)), "line 5000"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	text, _ = Preview(Recognise([]byte(strings.Repeat("word ", 100_000)+"end"), nil), 200)
	if got := string(text); !strings.Contains(got, "bytes left out") || !strings.HasSuffix(got, "end") {
		t.Errorf("got\n%s", got)
	}
}

// TestPreviewFits is promise 2: a preview is never over its budget.
func TestPreviewFits(t *testing.T) {
	corpus := []string{records1204(), strings.Repeat("a line of text\n", 300), strings.Repeat("x", 5000), strings.Repeat("\n", 3000),
		strings.Repeat("漢字", 2000), strings.Repeat("\xff\x00", 2000), "{" + manyMembers(300) + `"":0}`, strings.Repeat("[", 900) + strings.Repeat("]", 900)}
	rapid.Check(t, func(t *rapid.T) {
		var doc []byte
		switch rapid.IntRange(0, 2).Draw(t, "source") {
		case 0:
			doc = genDoc().Draw(t, "doc")
		case 1:
			doc = []byte(strings.Repeat(rapid.String().Draw(t, "text")+"\n", rapid.IntRange(1, 50).Draw(t, "times")))
		default:
			doc = []byte(rapid.SampledFrom(corpus).Draw(t, "sample"))
		}
		budget := rapid.OneOf(rapid.IntRange(-1, 40), rapid.IntRange(0, 2000)).Draw(t, "budget")
		v := Recognise(doc, nil)
		text, part := Preview(v, budget)
		shown, total := part.Shown, part.Total
		if n, _ := tokens.Count(text); n > max(budget, 0) {
			t.Fatalf("%d tokens for a budget of %d:\n%s", n, budget, text)
		}
		if !utf8.Valid(text) || shown > total || shown < 0 {
			t.Fatalf("%d of %d:\n%q", shown, total, text)
		}
		again, _ := Preview(v, budget)
		if string(again) != string(text) {
			t.Fatal("two previews differ")
		}
	})
}

func TestLossless(t *testing.T) {
	indented := "[\n" + strings.Repeat("    {\n        \"some_name\": 1\n    },\n", 50) + "    {}\n]"
	rows := "[" + strings.Repeat(`{"some_name":1,"other_name":"v"},`, 50) + `{"other_name":"w"}]`
	nested := "[" + strings.Repeat(`{"some_name":1,"other_name":{"v":1}},`, 50) + `{"other_name":"w"}]`
	wrapped := `{"result":` + show.Quote(`[`+strings.Repeat(`{"some_name":"a"},`, 50)+`{}]`) + `,"plain":"x"}`
	for _, tt := range []struct {
		name, in, want, note string
		budget               int
		ok                   bool
	}{
		{"fits", "[ 1 ]", "[ 1 ]", "", 10, true},
		{"minified", indented, `[{"some_name":1},`, "minified", 400, true},
		{"table", rows, "some_name|other_name\n1|v\n", "as a table; an empty cell is a missing field", 300, true},
		{"table of lines", strings.ReplaceAll(rows[1:len(rows)-1], "},{", "}\n{"), "some_name|other_name\n1|v\n", "as a table; an empty cell is a missing field", 300, true},
		{"table inside", `{"n":{"rows": ` + rows + `,"x": 1}}`, `{"n":{"rows":"table below","x":1}}` + "\nsome_name|other_name\n1|v\n", "n.rows as a table; an empty cell is a missing field", 300, true},
		{"nested is no table", nested, "[{", "", 400, false},
		{"unwrapped", wrapped, `{"result":[{"some_name":"a"},`, "the strings at result are written as the JSON they hold", 310, true},
		{"neither", rows, "[{", "", 50, false},
		{"text", strings.Repeat("word ", 100), "word", "", 20, false},
	} {
		v, ok := Lossless(Recognise([]byte(tt.in), nil), tt.budget)
		if ok != tt.ok || !strings.HasPrefix(string(v.Data), tt.want) || v.Note != tt.note {
			t.Errorf("%s: %v, %q, %.80s", tt.name, ok, v.Note, v.Data)
		}
		if ok && !tokens.AtMost(v.Data, tt.budget) {
			t.Errorf("%s: over budget", tt.name)
		}
	}
}

// TestLosslessReadsBack makes the document again from what an agent reads.
func TestLosslessReadsBack(t *testing.T) {
	forms := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		doc := rapid.OneOf(genDoc(), genRows()).Draw(t, "doc")
		inside := rapid.Bool().Draw(t, "inside")
		if inside {
			doc = fmt.Appendf(nil, `{"a":1,"rows":%s,"b":[2]}`, doc)
		}
		wrapped := rapid.Bool().Draw(t, "wrapped")
		if wrapped {
			doc = fmt.Appendf(nil, `{"w":%s,"v":"x"}`, show.Quote(string(doc)))
		}
		v := Recognise(doc, nil)
		for _, form := range []func(Value) (Value, bool){unwrapped, flatTable} {
			out, ok := form(v)
			if !ok {
				continue
			}
			got := out.Data
			if strings.Contains(out.Note, "table") {
				forms["table"]++
				head, rows, within := strings.Cut(string(got), "\n")
				if !within || !strings.Contains(head, tableMark) {
					rows = string(got)
				}
				back := untable(t, rows)
				if within && strings.Contains(head, tableMark) {
					back = strings.Replace(head, tableMark, back, 1)
				}
				got = []byte(back)
			} else {
				forms["unwrapped"]++
			}
			want := entered(decode(t, v.Data))
			if d := cmp.Diff(want, entered(decode(t, got))); d != "" {
				t.Fatalf("%s of %s\n%s\n%s", out.Note, doc, out.Data, d)
			}
		}
	})
	if forms["table"] < 5 || forms["unwrapped"] < 5 {
		t.Errorf("hardly anything was tested: %v", forms)
	}
}

// untable reads a table back into JSON.
func untable(t *rapid.T, rows string) string {
	lines := strings.Split(strings.TrimSuffix(rows, "\n"), "\n")
	cell := func(s string) string {
		if s[0] == '"' || json.Valid([]byte(s)) {
			return s
		}
		return show.Quote(s)
	}
	head := strings.Split(lines[0], "|")
	var out []string
	for _, line := range lines[1:] {
		var members []string
		for i, c := range strings.Split(line, "|") {
			if c != "" {
				members = append(members, cell(head[i])+":"+cell(c))
			}
		}
		out = append(out, "{"+strings.Join(members, ",")+"}")
	}
	return "[" + strings.Join(out, ",") + "]"
}

func TestNextCalls(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"records", `{"items":[{"id":1,"a b":"x","t":{"u":1}},{"id":2}]}`, `proxy_filter {"cache_id":"k3","jq":".items[] | {id, \"a b\"}"}`},
		{"odd key", `{"a\"b":[{"id":1},{"id":2}]}`, `proxy_filter {"cache_id":"k3","jq":".[\"a\\\"b\"][] | {id}"}`},
		{"mixed", `[{"id":1},2,{"id":2}]`, `proxy_filter {"cache_id":"k3","jq":".[] | objects | {id}"}`},
		{"lines", "{\"id\":1,\"t\":[]}\n{\"id\":2,\"t\":[]}\n", `proxy_filter {"cache_id":"k3","jq":".[] | {id}"}`},
		{"nothing to leave out", "{\"id\":1}\n{\"id\":2}\n", `proxy_filter {"cache_id":"k3"}`},
		{"object", `{"a":1,"b":{"c":1}}`, `proxy_explore {"cache_id":"k3","path":"b"}`},
		{"scalars", `[1,2]`, `proxy_filter {"cache_id":"k3"}`},
		{"log", "2024-01-02T03:04:05Z a\n", `proxy_filter {"cache_id":"k3","offset":0,"limit":30}`},
		{"log with a level", "2024-01-02T03:04:05Z ERR a\n2024-01-02T03:04:05Z INF b\n", `proxy_search {"cache_id":"k3","pattern":"ERR","context_lines":2}`},
		{"text", "words\n", `proxy_explore {"cache_id":"k3"}`},
		{"one line", strings.Repeat("words and others ", 20) + "\n", `proxy_filter {"cache_id":"k3"}`},
	} {
		if got := NextCalls(Recognise([]byte(tt.in), nil), "k3"); got[0] != tt.want || len(got) > 2 {
			t.Errorf("%s: %q, want %s", tt.name, got, tt.want)
		}
	}
}

// TestNextCallsWork sends what NextCalls suggests.
func TestNextCallsWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Recognise(genDoc().Draw(t, "doc"), nil)
		for _, c := range NextCalls(v, "k3v9") {
			_, args, _ := strings.Cut(c, " ")
			var got struct {
				CacheID string `json:"cache_id"`
				JQ      string `json:"jq"`
				Path    string `json:"path"`
			}
			if err := json.Unmarshal([]byte(args), &got); err != nil || got.CacheID != "k3v9" {
				t.Fatalf("%s: %v", c, err)
			}
			if got.JQ != "" {
				if _, err := (&JQ{Program: got.JQ}).Apply(context.Background(), v); err != nil {
					t.Fatalf("%s: %v", c, err)
				}
			}
			if _, err := (&Outline{Path: got.Path}).Apply(context.Background(), v); err != nil {
				t.Fatalf("%s: %v", c, err)
			}
		}
	})
}
