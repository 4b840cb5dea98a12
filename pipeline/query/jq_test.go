package query

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/project"
)

func TestJQ(t *testing.T) {
	const input = `{"items":[{"id":9007199254740993,"name":"a"},{"id":2,"name":"b","x":1.50}],"s":"{\"n\":1}"}`
	for _, tt := range []struct {
		program, in, want string
		kind              doc.Kind
	}{
		{".items[0].id", input, `9007199254740993`, doc.JSON},
		{".items[].name", input, "\"a\"\n\"b\"\n", doc.JSONLines},
		{".items[1]", input, `{"id":2,"name":"b","x":1.50}`, doc.JSON},
		{"{b: 1, a: 2}", input, `{"a":2,"b":1}`, doc.JSON},
		{".items | map({name})", input, `[{"name":"a"},{"name":"b"}]`, doc.JSON},
		{".s | fromjson | .n", input, `1`, doc.JSON},
		{"empty", input, "", doc.JSONLines},
		{"length", "{\"a\":1}\n{\"a\":2}\n", "2", doc.JSON},
		{"map(.a) | add", "{\"a\":1}\n{\"a\":2}\n", "3", doc.JSON},
		{"del(.items[0]) | .items | length", input, "1", doc.JSON},
		{`"<&>\u2028é"`, input, `"<&>\u2028é"`, doc.JSON},
		{"nan, infinite | tostring", input, "\"null\"\n\"1.7976931348623157e+308\"\n", doc.JSONLines},
		{"halt", input, "", doc.JSONLines},
		{"[env, $ENV]", input, "[{},{}]", doc.JSON},
		{"reduce .items[] as $i (0; . + 1)", input, "2", doc.JSON},
	} {
		got := doctest.Apply(t, &JQ{Program: tt.program}, tt.in)
		if string(got.Data) != tt.want || got.Kind != tt.kind {
			t.Errorf("%s: %v %s, want %v %s", tt.program, got.Kind, got.Data, tt.kind, tt.want)
		}
	}
}

// TestJQText: text that is no table is one string, with U+FFFD for what is
// not UTF-8.
func TestJQText(t *testing.T) {
	const log = "error: a\nok\nerror: b\n"
	for _, tt := range []struct{ program, in, want string }{
		{`split("\n") | map(select(test("error"))) | length`, log, "2"},
		{`split("\n")[0]`, log, `"error: a"`},
		{`.`, "a\xff\xfeb \u2028", `"a\ufffd\ufffdb \u2028"`},
		{`length`, "", "0"},
		{`test("x")`, "one, two\nand x\n", "true"},
	} {
		got := doctest.Apply(t, &JQ{Program: tt.program}, tt.in)
		if want := strings.ReplaceAll(tt.want, `\ufffd`, "�"); string(got.Data) != want || got.Kind != doc.JSON {
			t.Errorf("%s: %v %s, want %s", tt.program, got.Kind, got.Data, want)
		}
	}
	for _, program := range []string{".[]", ".items", ".[].id"} {
		e := doctest.ApplyError(t, &JQ{Program: program}, log)
		if e.Code != doc.BadJQ || !strings.Contains(e.Hint, `split("\n")`) {
			t.Errorf("%s: %v", program, e)
		}
	}
	e := doctest.ApplyError(t, &project.Project{Fields: []string{"a"}}, log)
	if _, hint, _ := strings.Cut(e.Hint, `or "jq":`); runJQ(t, doc.Recognise([]byte(log), nil), jsonscan.Unquote([]byte(hint))) != `["error: a","error: b"]` {
		t.Error(e)
	}
}

func TestJQErrors(t *testing.T) {
	const input = `{"items":[{"id":1,"user-id":2}]}`
	for _, tt := range []struct{ program, code, text, hint string }{
		{".items[]]", doc.BadJQ, "jq: unexpected token \"]\"\n    .items[]]\n            ^", "use: .items[]"},
		{".items[] |\n  .id ==", doc.BadJQ, "jq: unexpected EOF\n      .id ==\n            ^", ""},
		{"$.items[*].id", doc.BadJQ, "jq: ", ".items[].id"},
		{"items[].id", doc.BadJQ, "jq: ", ".items[].id"},
		{".items[] | select(.id == 'x')", doc.BadJQ, "jq: ", "double quotes"},
		{".items[] | select(.id == 1 && true)", doc.BadJQ, "jq: ", "1 and true"},
		{".missing[]", doc.BadJQ, "cannot iterate over: null", "no field missing in the data"},
		{".items[].id | .[0]?, (null | .[])", doc.BadJQ, "cannot iterate over: null", "[]?"},
		{".items.id", doc.BadJQ, "expected an object but got: array", ""},
		{`"{\"n\":1}" | .n`, doc.BadJQ, "expected an object but got: string", "fromjson"},
		{"nosuch(1)", doc.BadJQ, "function not defined: nosuch/1", ""},
		{"input", doc.BadJQ, "input", ""},
		{`import "x" as x; .`, doc.BadJQ, "jq: ", ""},
		{strings.Repeat("(", 300) + "." + strings.Repeat(")", 300), doc.BadJQ, "deeper than 200", ""},
		{strings.Repeat("[", 1_000_000), doc.BadJQ, "1,000,000 bytes", ""},
		{strings.Repeat("-", 9_999), doc.BadJQ, "jq: ", ""},
		{strings.Repeat(".|", 4_999) + "error", doc.BadJQ, "jq: ", ""},
		{"reduce range(900) as $i (0; [.]) | [[., .], [[[.]]]] | [range(200)] as $x | reduce range(200) as $i (.; [.])", doc.LimitMemory, "deeper than 1,000", ""},
		{"range(1000000)", doc.LimitMemory, "100,000 outputs", "limit("},
		{`[range(40) | "x" * 1000000]`, doc.LimitMemory, "32 MiB", ""},
	} {
		e := doctest.ApplyError(t, &JQ{Program: tt.program}, input)
		if e.Code != tt.code || !strings.Contains(e.Text, tt.text) || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%.60s: %s: %v", tt.program, e.Code, e)
		}
		if len(e.Error()) > 1000 {
			t.Errorf("%.60s: error of %d bytes", tt.program, len(e.Error()))
		}
	}
}

// TestJQSharedTree runs programs that update while others read the tree;
// it is for the race detector.
func TestJQSharedTree(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `{"id":%d,"user":{"name":"n%d","tags":[1,2,3]}}`+"\n", i, i)
	}
	in := doc.Recognise([]byte(b.String()), doctest.MemoMap())
	before := runJQ(t, in, "map(.user) | tojson")
	var wg sync.WaitGroup
	for _, program := range []string{
		"del(.[].user.name)", "delpaths([[0,\"user\"],[1,\"user\",\"tags\",0]])", "map_values(.user)", ".[].id |= . + 1", ".[0].user.tags |= empty",
		".[].user.tags[0] = 7", "map(with_entries(.))", "walk(if type == \"object\" then del(.id) else . end)", "map(.user.tags | sort) | add", "map(.user + {a:1})", "to_entries | map(.value.id) | add",
		"[.[] | .user.tags + [4]] | length", "map(del(.user))", "pick(.[0].user)", "[paths] | length", "add | keys", "reduce .[] as $x ({}; . + $x)", ".[0].user *= {b:2}", "group_by(.user.name) | length", "[limit(3; .[])] | .[0].id //= 3", "[.. | numbers] | add",
	} {
		for range 2 {
			wg.Go(func() { runJQ(t, in, program) })
		}
	}
	wg.Wait()
	if after := runJQ(t, in, "map(.user) | tojson"); after != before {
		t.Error("a program changed the shared tree")
	}
}

func runJQ(t *testing.T, in doc.Value, program string) string {
	out, err := (&JQ{Program: program}).Apply(context.Background(), in)
	if err != nil {
		t.Errorf("%s: %v", program, err)
	}
	return string(out.Data)
}

// TestJQDeadline has programs that heed the context, and one that does not,
// which is left behind.
func TestJQDeadline(t *testing.T) {
	for _, program := range []string{"[range(1e12)] | length", `"abc" * 100000000 | test("c$")`} {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, err := (&JQ{Program: program}).Apply(ctx, doc.Recognise([]byte("{}"), nil))
		cancel()
		if e := (*doc.Error)(nil); !errors.As(err, &e) || e.Code != doc.LimitTime {
			t.Errorf("%s: %v", program, err)
		}
	}
}

func FuzzJQ(f *testing.F) {
	for _, program := range []string{".", ".a[]?", "$.a", "a'b", "..", "[.[]?|tojson]", "@base64d", `"\(1;2)"`, "limit(3;repeat(1))", "\xff", "if", ".[-1:]"} {
		f.Add(program, `{"a":[1,{"b":null}]}`)
	}
	nests := regexp.MustCompile(`def|reduce|foreach|repeat|until|while|recurse|path|pick|stream`)
	f.Fuzz(func(t *testing.T, program, input string) {
		if nests.MatchString(program) {
			return // may overflow the stack, which ends a worker, but here the test
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		out, err := (&JQ{Program: program}).Apply(ctx, doc.Recognise([]byte(input), nil))
		if err == nil && out.Kind == doc.JSON && !doc.IsLines(out.Data) && jsonscan.Kind(out.Data) == 0 {
			t.Errorf("%q: no JSON: %q", program, out.Data)
		}
	})
}

// TestJQRecords: a text made of records is those; a program for the text as a string runs
// on that, and says so.
func TestJQRecords(t *testing.T) {
	const log = "2026-01-02 03:04:05 ERROR a\n2026-01-02 03:04:06 INFO b\n"
	for _, tt := range []struct{ in, program, want, note string }{
		{log, `map(select(.level == "ERROR").message)`, `["a"]`, ""},
		{log, `split("\n") | map(select(test("INFO"))) | length`, "1", "run on the text: on its records, the program fails"},
		{log, `length`, "2", ""},
		{"a: 1\nb:\n  - c: 2\n", `.b[0].c`, "2", ""},
		{"see:\n[" + strings.Repeat("1, ", 100) + "2]\n", `add`, "102", ""},
		{`[NaN, 1]`, `map(select(. != null)) | add`, "1", "1 number, NaN or Infinity, became null"},
	} {
		out, err := (&JQ{Program: tt.program}).Apply(t.Context(), doc.Recognise([]byte(tt.in), nil))
		if err != nil || string(out.Data) != tt.want || out.Note != tt.note {
			t.Errorf("%s: %s, %q, %v", tt.program, out.Data, out.Note, err)
		}
	}
	if e := doctest.ApplyError(t, &JQ{Program: `.items[]`}, log); e.Code != doc.BadJQ {
		t.Error(e)
	}
}
