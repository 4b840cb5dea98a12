package find

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/digest/digesttest"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/locate"
)

// genLarge draws JSON whose parts are around the limits of units.
func genLarge(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 5
		if depth == 0 {
			kinds = 2
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return rapid.IntRange(0, 1<<40).Draw(t, "number")
		case 1, 2:
			part := rapid.SampledFrom([]string{"word ", "a\nb ", "über\t", "\"q\" \\ ", "\U0001f600 ", "x", "# h\n\n"}).Draw(t, "part")
			return strings.Repeat(part, rapid.SampledFrom([]int{0, 1, 10, 300, 1500}).Draw(t, "times"))
		case 3:
			m := map[string]any{}
			for i := range rapid.IntRange(0, 4).Draw(t, "members") {
				m[rapid.SampledFrom([]string{"a", "b.c", "ü", "long key with words", ""}).Draw(t, "key")+fmt.Sprint(i)] = genLarge(depth-1).Draw(t, "value")
			}
			return m
		}
		list := []any{}
		for range rapid.IntRange(0, 6).Draw(t, "elements") {
			list = append(list, genLarge(depth-1).Draw(t, "element"))
		}
		return list
	})
}

// TestUnitsOfJSON: units are in order and where their paths say; what is between
// them is no value; and each can be printed.
func TestUnitsOfJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, err := json.Marshal([]any{genLarge(3).Draw(t, "a"), genLarge(3).Draw(t, "b")})
		if err != nil {
			t.Fatal(err)
		}
		input := doc.Recognise(data, nil)
		if rapid.Bool().Draw(t, "lines") {
			input = doc.Recognise(bytes.Join([][]byte{[]byte(`{"n":1}`), nil, data, []byte("  " + string(data))}, []byte("\n")), nil)
		}
		u, err := unitsOf(t.Context(), input)
		if err != nil {
			t.Fatal(err)
		}
		p := rankPrinter{ctx: t.Context(), query: "word", units: u}
		end := 0
		for n, one := range u.list {
			if int(one.start) < end || one.end < one.start {
				t.Fatalf("unit %d, [%d,%d), after %d", n, one.start, one.end, end)
			}
			checkGap(t, u, n, end)
			end = int(one.end)
			checkUnit(t, input, u, n)
			if err := p.print(one, u.paths(u.list[n : n+1])[0], 1); err != nil {
				t.Fatalf("unit %d: %v", n, err)
			}
		}
		if spans := u.spans(); len(spans) != len(u.list) {
			t.Fatalf("%d spans of %d units", len(spans), len(u.list))
		}
	})
}

// checkGap: before unit n there are brackets, keys and blanks.
func checkGap(t *rapid.T, u *units, n, from int) {
	gap := u.text[from:u.list[n].start]
	if u.list[n].kind == unitPiece || n > 0 && u.list[n-1].kind == unitPiece {
		return // the rest of a string, which has no end of its own
	}
	for i := 0; i < len(gap); {
		switch c := gap[i]; {
		case c == '"':
			i = jsonscan.SkipString(gap, i)
			if j := jsonscan.SkipSpace(gap, i); j >= len(gap) || gap[j] != ':' {
				t.Fatalf("%q is in no unit", gap)
			}
		case bytes.IndexByte([]byte("[]{},: \n"), c) >= 0:
			i++
		default:
			t.Fatalf("%q is in no unit", gap)
		}
	}
}

func checkUnit(t *rapid.T, input doc.Value, u *units, n int) {
	one, path := u.list[n], u.paths(u.list[n : n+1])[0]
	raw := u.text[one.start:one.end]
	if one.kind == unitGroup {
		path = path[:len(path)-1]
	}
	at, err := locate.Find(context.Background(), doc.Value{Kind: input.Kind, Data: input.Data}, path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	switch one.kind {
	case unitValue, unitRecord:
		if !bytes.HasSuffix(raw, at.Data) {
			t.Fatalf("%s is %s, unit is %s", path, at.Data, raw)
		}
		if len(raw) > maxRecord+100 && !isDeep(raw) {
			t.Fatalf("%s has %d bytes", path, len(raw))
		}
	case unitGroup:
		if !bytes.Contains(at.Data, raw) {
			t.Fatalf("%s has no %s", path, raw)
		}
	case unitPiece:
		of := u.text[one.inside:jsonscan.SkipString(u.text, int(one.inside))]
		text := jsonscan.AppendUnescaped(nil, of[1:len(of)-1])
		start := int(one.start-one.inside) - 1
		if string(text) != jsonscan.Unquote(of) || start < 0 || start+len(raw) > len(text) {
			t.Fatalf("%s: piece at %d of %d in %d", path, start, len(raw), len(text))
		}
	}
}

func isDeep(raw []byte) bool { return !jsonscan.Valid(raw, maxUnitDepth-5) }

// TestUnescaped: each string, decoded in place, is what encoding/json decodes,
// and blanks.
func TestUnescaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []string
		for range rapid.IntRange(0, 5).Draw(t, "strings") {
			list = append(list, rapid.String().Draw(t, "string"))
		}
		data, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "escaped") {
			data = bytes.ReplaceAll(data, []byte("z"), []byte(`\u007a`)) // no letter of an escape, as the a of \u001a
			data = bytes.ReplaceAll(data, []byte("/"), []byte(`\/`))
		}
		plain := unescaped(data)
		if len(plain) != len(data) {
			t.Fatalf("%d bytes of %d", len(plain), len(data))
		}
		for i, raw := range jsonscan.Items(data) {
			at := jsonscan.OffsetIn(data, raw)
			got := string(plain[at+1 : at+len(raw)-1])
			if rest, ok := strings.CutPrefix(got, list[i]); !ok || strings.Trim(rest, " ") != "" {
				t.Fatalf("%q, want %q", got, list[i])
			}
		}
	})
	if got := string(jsonscan.AppendUnescaped(nil, []byte(`\ud83d\ude00\ud83dx\u00e9\n`))); got != "😀\ufffdxé\n" {
		t.Errorf("%q", got)
	}
}

// TestUnits: what the units of each kind of document are.
func TestUnits(t *testing.T) {
	long := strings.Repeat(`{"id":1,"text":"some words"},`, 60)
	for _, tt := range []struct {
		name, input, of string
		want            []string // the first units
	}{
		{"records", `{"total":2,"items":[{"a":1,"text":"some words"},{"a":2,"text":"and quite some others"}],"next":null}`, "records",
			[]string{`"total":2`, `{"a":1,"text":"some words"}`, `{"a":2,"text":"and quite some others"}`, `"next":null`}},
		{"two lists", `{"a":[` + long[:58] + `{"x":2}],"b":[` + long[:58] + `{"y":2}]}`, "records", []string{long[:28], long[:28], `{"x":2}`, long[:28], long[:28], `{"y":2}`}},
		{"a short list", `{"total":2,"items":[{"a":1},{"a":2}],"next":null}`, "values", []string{`"total":2,"items":[{"a":1},{"a":2}],"next":null`}},
		{"wrapper", `[{"success":true,"rows":[` + strings.TrimRight(long, ",") + `]}]`, "records", []string{`"success":true`, `{"id":1,"text":"some words"}`}},
		{"values", `{"small":{"a":1},"named":{"type":"` + strings.Repeat("t", 60) + `"},"n":1}`, "values",
			[]string{`"small":{"a":1}`, `"named":{"type":"` + strings.Repeat("t", 60) + `"}`, `"n":1`}},
		{"lines", "{\"a\":1}\n\n{\"a\":2}\n", "records", []string{`{"a":1}`, `{"a":2}`}},
		{"scalars", `["a","b",3]`, "values", []string{`"a","b",3`}},
		{"rows", "id,name,note\n1,ann,\"two\nlines\"\n" + strings.Repeat("2,bob,x\n", 100), "rows",
			[]string{"1,ann,\"two\nlines\"\n", "2,bob,x\n"}},
		{"rows alone", strings.Repeat("2,bob,x\n", 10), "rows", []string{"2,bob,x\n"}},
		{"open quote", "id,name\n1,\"ann\n2,bob\n3,cid\n4,dan\n5,eve\n", "rows", []string{"1,\"ann\n", "2,bob\n"}},
		{"log", "2026-01-02T03:04:05Z ERROR boom\n  at a.b(C.java:1)\n  at a.c(C.java:2)\n2026-01-02T03:04:06Z INFO ok\n2026-01-02T03:04:07Z INFO ok\n", "entries",
			[]string{"2026-01-02T03:04:05Z ERROR boom\n  at a.b(C.java:1)\n  at a.c(C.java:2)\n", "2026-01-02T03:04:06Z INFO ok\n"}},
		{"prose", "Some words.\n", "passages", []string{"Some words.\n"}},
	} {
		u, err := unitsOf(t.Context(), doc.Recognise([]byte(tt.input), nil))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range u.list[:min(len(u.list), len(tt.want))] {
			got = append(got, string(u.text[one.start:one.end]))
		}
		if d := cmp.Diff(tt.want, got); d != "" || u.of != tt.of {
			t.Errorf("%s: %s\n%s", tt.name, u.of, d)
		}
	}
}

// TestRankedShowsWhatMatched: a record that is too long to be shown once was cut
// before the words that it was found by.
func TestRankedShowsWhatMatched(t *testing.T) {
	filler := strings.Repeat("lorem ipsum ", 80)
	var docs []string
	for i := range 5 {
		docs = append(docs, fmt.Sprintf(`{"id":%d,"a":%q,"b":%q,"body":{"text":%q}}`, i, filler, filler, strings.Repeat("dolor ", 100)+"caf\u00e9 "+[]string{"one", "two", "three", "four", "five"}[i]+"\nthe end"))
	}
	got := string(doctest.Apply(t, &Search{Mode: "bm25", Pattern: "three café", TopK: 1}, "["+strings.Join(docs, ",")+"]").Data)
	if !strings.Contains(got, "\n  .body.text: \"…") || !strings.Contains(got, "café three") || !strings.HasPrefix(got, "best 1 of 5 records for") {
		t.Errorf("got\n%s", got)
	}
	got = string(doctest.Apply(t, &Search{Mode: "bm25", Pattern: "sed"}, `{"n":1,"log":"`+strings.Repeat("line of text\\n\\n", 200)+`second\nsed\n"}`).Data)
	if !strings.Contains(got, "log, ") || !strings.Contains(got, "second\nsed") {
		t.Errorf("got\n%s", got)
	}
	got = string(doctest.Apply(t, &Search{Mode: "bm25", Pattern: "refused"}, string(digesttest.ServiceLog(3000))).Data)
	if !strings.Contains(got, "best 1 entry for") || !strings.Contains(got, "Caused by: java.net") {
		t.Errorf("got\n%s", got)
	}
}

func TestContextRecord(t *testing.T) {
	input := `{"rows":[{"id":1,"user":{"name":"ann"},"tags":[{"t":"x"},{"t":"needle"}]},{"id":2}],"needle":0}`
	got := string(doctest.Apply(t, &Search{Mode: "context", Pattern: "needle", ContextType: "record"}, input).Data)
	if !strings.Contains(got, `"id":1`) || !strings.Contains(got, `"t":"x"`) || strings.Contains(got, `"id":2`) || !strings.Contains(got, "\nneedle: 0\n") {
		t.Errorf("JSON:\n%s", got)
	}
	got = string(doctest.Apply(t, &Search{Mode: "context", Pattern: "two", ContextType: "record"}, "{\"a\":{\"b\":\"one\"}}\n{\"a\":{\"b\":\"two\"},\"c\":3}\n").Data)
	if !strings.Contains(got, `"c":3`) || strings.Contains(got, "one") {
		t.Errorf("JSON Lines:\n%s", got)
	}
	log := "2026-01-02T03:04:05Z ERROR boom\n  at a.b(C.java:1)\n\n  at a.c(C.java:2)\n2026-01-02T03:04:06Z INFO ok\n2026-01-02T03:04:07Z INFO ok\n"
	got = string(doctest.Apply(t, &Search{Mode: "context", Pattern: "C.java:2", ContextType: "record"}, log).Data)
	if !strings.Contains(got, "boom") || strings.Contains(got, "INFO") {
		t.Errorf("log:\n%s", got)
	}
	got = string(doctest.Apply(t, &Search{Mode: "context", Pattern: "lines", ContextType: "record"}, "id,name,note\n1,ann,\"two\nlines\"\n"+strings.Repeat("2,bob,x\n", 100)).Data)
	if !strings.Contains(got, "2- 1,ann") || strings.Contains(got, "bob") {
		t.Errorf("CSV:\n%s", got)
	}
	got = string(doctest.Apply(t, &Search{Mode: "context", Pattern: "word", ContextType: "record"}, "a word\nmore\n\nother\n").Data)
	if !strings.Contains(got, "more") || strings.Contains(got, "other") {
		t.Errorf("prose:\n%s", got)
	}
}

// TestUnitsDeep: large values in one another cost a pass a level, so only some
// levels are looked into.
func TestUnitsDeep(t *testing.T) {
	input := strings.Repeat(`{"k":[`, 400) + `"` + strings.Repeat("word ", 4000) + `"` + strings.Repeat(`]}`, 400)
	u, err := unitsOf(t.Context(), doc.Recognise([]byte(input), nil))
	if err != nil || len(u.list) == 0 {
		t.Fatal(len(u.list), err)
	}
	out := doctest.Apply(t, &Search{Mode: "bm25", Pattern: "word"}, input)
	if out.Items == 0 || len(out.Data) > 10_000 {
		t.Errorf("%d hits, %d bytes", out.Items, len(out.Data))
	}
}

// TestManyHitsInOneRecord: each hit once read the whole record anew, 23 seconds
// here, and an entry that many blank lines follow was looked through at each.
func TestManyHitsInOneRecord(t *testing.T) {
	input := `[{"a":[` + strings.Repeat("77,", 20_000) + `77]}]`
	got := string(doctest.Apply(t, &Search{Mode: "context", Pattern: "77", ContextType: "record", MaxResults: 10_000}, input).Data)
	if !strings.Contains(got, "10,000 shown") {
		t.Errorf("got %.200s", got)
	}
	deep := strings.Repeat(`{"k":[`, 400) + strings.Repeat("77,", 20_000) + "77" + strings.Repeat(`]}`, 400)
	for _, mode := range []string{"regex", "paths"} {
		got = string(doctest.Apply(t, &Search{Mode: mode, Pattern: "77", MaxResults: 10_000}, deep).Data)
		if !strings.HasPrefix(got, "20,001 matches") || len(got) > 5_000_000 {
			t.Errorf("%d bytes, %.200s", len(got), got)
		}
	}
	files := strings.Repeat("src/a/b.go\nsrc/a/c.go\n", 20) + strings.Repeat(" \n", 500_000)
	u, err := unitsOf(t.Context(), doc.Recognise([]byte(files), nil))
	if err != nil || len(u.list) < 40 {
		t.Errorf("%d units, %v", len(u.list), err)
	}
}

func TestGroupsOfLines(t *testing.T) {
	v := doc.Value{Kind: doc.JSONLines, Data: []byte("12\n34\n\"x\"\n")}
	u, err := unitsOf(t.Context(), v)
	if err != nil || len(u.list) != 1 || u.group(u.list[0], u.paths(u.list)[0]) != `[12,34,"x"]` {
		t.Errorf("%d units, %v: %s", len(u.list), err, u.group(u.list[0], u.paths(u.list)[0]))
	}
}

func TestIndentedIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := doctest.GenDoc().Draw(t, "doc")
		if got := jsonscan.AppendMinified(nil, appendIndented(nil, input)); !bytes.Equal(got, jsonscan.AppendMinified(nil, input)) {
			t.Fatalf("%s became %s", input, got)
		}
	})
}
