package doc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	. "rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
)

func TestParsePath(t *testing.T) {
	key := func(s string) Step { return Step{Key: s} }
	try := func(s Step) Step { s.Try = true; return s }
	inner := Step{Kind: StepJSON}
	each, third := Step{Kind: StepEach}, Step{Kind: StepIndex, Index: 3}
	for _, tt := range []struct {
		in    string
		want  Path
		write string
	}{
		{"", nil, ""},
		{".", nil, ""},
		{"$", nil, ""},
		{"id", Path{key("id")}, "id"},
		{"items.user.name", Path{key("items"), key("user"), key("name")}, "items.user.name"},
		{".items[].id", Path{key("items"), each, key("id")}, "items[].id"},
		{"$.items[*].id", Path{key("items"), each, key("id")}, "items[].id"},
		{"items.*.id", Path{key("items"), each, key("id")}, "items[].id"},
		{"items[3].id", Path{key("items"), third, key("id")}, "items[3].id"},
		{"[3].id", Path{third, key("id")}, "[3].id"},
		{`items["a.b"].c`, Path{key("items"), key("a.b"), key("c")}, `items["a.b"].c`},
		{`items."a b"`, Path{key("items"), key("a b")}, `items["a b"]`},
		{`items['a b']`, Path{key("items"), key("a b")}, `items["a b"]`},
		{`["say \"hi\""]`, Path{key(`say "hi"`)}, `["say \"hi\""]`},
		{"user-id", Path{key("user-id")}, `["user-id"]`},
		{"größe", Path{key("größe")}, `["größe"]`},
		{`["*"]`, Path{key("*")}, `["*"]`},
		{`[""]`, Path{key("")}, `[""]`},
		{"items[].user?.name", Path{key("items"), each, try(key("user")), key("name")}, "items[].user?.name"},
		{"tags[]?", Path{key("tags"), try(each)}, "tags[]?"},
		{`["a b"]?[3]?`, Path{try(key("a b")), try(third)}, `["a b"]?[3]?`},
		{`."a b"?.*??.x`, Path{try(key("a b")), try(each), key("x")}, `["a b"]?[]?.x`},
		{"a?b", Path{key("a?b")}, `["a?b"]`},
		{"?", Path{key("?")}, `["?"]`},
		{`["ok?"]`, Path{key("ok?")}, `["ok?"]`},
		{"payload|fromjson", Path{key("payload"), inner}, "payload|fromjson"},
		{"payload|fromjson|.user.name", Path{key("payload"), inner, key("user"), key("name")}, "payload|fromjson|.user.name"},
		{".payload | fromjson | .[3].x", Path{key("payload"), inner, third, key("x")}, "payload|fromjson|.[3].x"},
		{"payload? |fromjson?|.[].x?", Path{try(key("payload")), try(inner), each, try(key("x"))}, "payload?|fromjson?|.[].x?"},
		{`a[]|fromjson|.["a b"]`, Path{key("a"), each, inner, key("a b")}, `a[]|fromjson|.["a b"]`},
		{"|fromjson", Path{inner}, "|fromjson"},
		{". | fromjson | .a", Path{inner, key("a")}, "|fromjson|.a"},
		{"a|fromjson|fromjson?|.b", Path{key("a"), inner, try(inner), key("b")}, "a|fromjson|fromjson?|.b"},
		{"a|fromjson.b", Path{key("a"), inner, key("b")}, "a|fromjson|.b"},
		{"a|fromjson|b", Path{key("a"), inner, key("b")}, "a|fromjson|.b"},
		{"a|fromjson|.", Path{key("a"), inner}, "a|fromjson"},
		{"a b | fromjson", Path{key("a b"), inner}, `["a b"]|fromjson`},
		{"a|b", Path{key("a|b")}, `["a|b"]`},
		{"a|fromjsonp", Path{key("a|fromjsonp")}, `["a|fromjsonp"]`},
		{"a|fromjson b", Path{key("a|fromjson b")}, `["a|fromjson b"]`},
		{`["a|fromjson"]`, Path{key("a|fromjson")}, `["a|fromjson"]`},
		{"fromjson", Path{key("fromjson")}, "fromjson"},
	} {
		got, err := ParsePath(tt.in)
		if err != nil {
			t.Errorf("ParsePath(%q): %v", tt.in, err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("ParsePath(%q):\n%s", tt.in, d)
		}
		if got.String() != tt.write {
			t.Errorf("ParsePath(%q).String() = %q, want %q", tt.in, got, tt.write)
		}
	}
}

func TestParsePathErrors(t *testing.T) {
	for _, in := range []string{"a..b", "a[", "a[x]", "a[-1]", `a["b`, `a["b"`, `"b`, "a[99999999999]", `a["\x"]`} {
		if p, err := ParsePath(in); err == nil {
			t.Errorf("ParsePath(%q) = %v", in, p)
		}
	}
}

func genPath() *rapid.Generator[Path] {
	step := rapid.Custom(func(t *rapid.T) Step {
		try := rapid.Bool().Draw(t, "try")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return Step{Kind: StepEach, Try: try}
		case 1:
			return Step{Kind: StepIndex, Index: rapid.IntRange(0, 1<<20).Draw(t, "index"), Try: try}
		case 2:
			return Step{Kind: StepJSON, Try: try}
		}
		key := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a", "if", "and", "fromjson", "?", "a?", "|fromjson", "a | fromjson", "a.b", `"`, "]", "*", "$"}))
		return Step{Key: key.Draw(t, "key"), Try: try}
	})
	return rapid.Custom(func(t *rapid.T) Path { return rapid.SliceOfN(step, 1, 6).Draw(t, "steps") })
}

func TestPathReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPath().Draw(t, "path")
		got, err := ParsePath(p.String())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, got); d != "" {
			t.Fatal(d)
		}
		if !jq.Compiles(p.JQ()) {
			t.Fatalf("jq does not take %s", p.JQ())
		}
	})
}
