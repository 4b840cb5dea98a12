package pipeline

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestJQ(t *testing.T) {
	const doc = `{"items":[{"id":9007199254740993,"name":"a"},{"id":2,"name":"b","x":1.50}],"s":"{\"n\":1}"}`
	for _, tt := range []struct {
		program, in, want string
		kind              Kind
	}{
		{".items[0].id", doc, `9007199254740993`, JSON},
		{".items[].name", doc, "\"a\"\n\"b\"\n", JSONLines},
		{".items[1]", doc, `{"id":2,"name":"b","x":1.50}`, JSON},
		{"{b: 1, a: 2}", doc, `{"a":2,"b":1}`, JSON},
		{".items | map({name})", doc, `[{"name":"a"},{"name":"b"}]`, JSON},
		{".s | fromjson | .n", doc, `1`, JSON},
		{"empty", doc, "", JSONLines},
		{"length", "{\"a\":1}\n{\"a\":2}\n", "2", JSON},
		{"map(.a) | add", "{\"a\":1}\n{\"a\":2}\n", "3", JSON},
		{"del(.items[0]) | .items | length", doc, "1", JSON},
		{`"<&>\u2028é"`, doc, `"<&>\u2028é"`, JSON},
		{"nan, infinite | tostring", doc, "\"null\"\n\"1.7976931348623157e+308\"\n", JSONLines},
		{"halt", doc, "", JSONLines},
		{"[env, $ENV]", doc, "[{},{}]", JSON},
		{"reduce .items[] as $i (0; . + 1)", doc, "2", JSON},
	} {
		got := apply(t, &JQ{Program: tt.program}, tt.in)
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
		got := apply(t, &JQ{Program: tt.program}, tt.in)
		if want := strings.ReplaceAll(tt.want, `\ufffd`, "�"); string(got.Data) != want || got.Kind != JSON {
			t.Errorf("%s: %v %s, want %s", tt.program, got.Kind, got.Data, want)
		}
	}
	for _, program := range []string{".[]", ".items", ".[].id"} {
		e := applyError(t, &JQ{Program: program}, log)
		if e.Code != BadJQ || !strings.Contains(e.Hint, `split("\n")`) {
			t.Errorf("%s: %v", program, e)
		}
	}
	e := applyError(t, &Project{Fields: []string{"a"}}, log)
	if _, hint, _ := strings.Cut(e.Hint, `or "jq":`); runJQ(t, Recognise([]byte(log), nil), unquote([]byte(hint))) != `["error: a","error: b"]` {
		t.Error(e)
	}
}

func TestJQErrors(t *testing.T) {
	const doc = `{"items":[{"id":1,"user-id":2}]}`
	for _, tt := range []struct{ program, code, text, hint string }{
		{".items[]]", BadJQ, "jq: unexpected token \"]\"\n    .items[]]\n            ^", "proxy_explore"},
		{".items[] |\n  .id ==", BadJQ, "jq: unexpected EOF\n      .id ==\n            ^", ""},
		{"$.items[*].id", BadJQ, "jq: ", ".items[].id"},
		{"items[].id", BadJQ, "jq: ", ".items[].id"},
		{".items[] | select(.id == 'x')", BadJQ, "jq: ", `.items[] | select(.id == "x")`},
		{".items[] | select(.id == 1 && true)", BadJQ, "jq: ", "1 and true"},
		{".missing[]", BadJQ, "cannot iterate over: null", "no field missing in the data"},
		{".items[].id | .[0]?, (null | .[])", BadJQ, "cannot iterate over: null", "[]?"},
		{".items.id", BadJQ, "expected an object but got: array", ""},
		{`"{\"n\":1}" | .n`, BadJQ, "expected an object but got: string", "fromjson"},
		{"nosuch(1)", BadJQ, "function not defined: nosuch/1", ""},
		{"input", BadJQ, "input", ""},
		{`import "x" as x; .`, BadJQ, "jq: ", ""},
		{strings.Repeat("(", 300) + "." + strings.Repeat(")", 300), BadJQ, "deeper than 200", ""},
		{strings.Repeat("[", 1_000_000), BadJQ, "1,000,000 bytes", ""},
		{strings.Repeat("-", 9_999), BadJQ, "jq: ", ""},
		{strings.Repeat(".|", 4_999) + "error", BadJQ, "jq: ", ""},
		{"reduce range(900) as $i (0; [.]) | [[., .], [[[.]]]] | [range(200)] as $x | reduce range(200) as $i (.; [.])", LimitMemory, "deeper than 1,000", ""},
		{"range(1000000)", LimitMemory, "100,000 outputs", "limit("},
		{`[range(40) | "x" * 1000000]`, LimitMemory, "32 MiB", ""},
	} {
		e := applyError(t, &JQ{Program: tt.program}, doc)
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
	in := Recognise([]byte(b.String()), memoMap())
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

func runJQ(t *testing.T, in Value, program string) string {
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
		_, err := (&JQ{Program: program}).Apply(ctx, Recognise([]byte("{}"), nil))
		cancel()
		if e := (*Error)(nil); !errors.As(err, &e) || e.Code != LimitTime {
			t.Errorf("%s: %v", program, err)
		}
	}
}

func FuzzJQ(f *testing.F) {
	for _, program := range []string{".", ".a[]?", "$.a", "a'b", "..", "[.[]?|tojson]", "@base64d", `"\(1;2)"`, "limit(3;repeat(1))", "\xff", "if", ".[-1:]"} {
		f.Add(program, `{"a":[1,{"b":null}]}`)
	}
	nests := regexp.MustCompile(`def|reduce|foreach|repeat|until|while|recurse|path|pick|stream`)
	f.Fuzz(func(t *testing.T, program, doc string) {
		if nests.MatchString(program) {
			return // may overflow the stack, which ends a worker, but here the test
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		out, err := (&JQ{Program: program}).Apply(ctx, Recognise([]byte(doc), nil))
		if err == nil && out.Kind == JSON && !isLines(out.Data) && kindOf(out.Data) == 0 {
			t.Errorf("%q: no JSON: %q", program, out.Data)
		}
	})
}
