package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"
	"pgregory.net/rapid"
)

func TestParsePath(t *testing.T) {
	key := func(s string) Step { return Step{Key: s} }
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
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return Step{Kind: StepEach}
		case 1:
			return Step{Kind: StepIndex, Index: rapid.IntRange(0, 1<<20).Draw(t, "index")}
		}
		return Step{Key: rapid.String().Draw(t, "key")}
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
		if _, err := gojq.Parse(p.JQ()); err != nil {
			t.Fatalf("jq %s: %v", p.JQ(), err)
		}
	})
}
