package changes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rlmproxy/bench/outputs"
	"rlmproxy/pipeline/doc"
)

func TestBetween(t *testing.T) {
	lines := func(n int, change func(i int, line string) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(change(i, fmt.Sprintf("line %d", i)))
		}
		return b.String()
	}
	plain := lines(20, func(_ int, line string) string { return line + "\n" })
	rows := lines(20, func(i int, _ string) string { return fmt.Sprintf(`{"id":%d,"s":"open"},`, i) })
	for _, tt := range []struct {
		name, old, new, want string
		reindented           int
	}{
		{"same", plain, plain, "", 0},
		{"changed", plain, strings.Replace(plain, "line 3\n", "other\n", 1), "@ line 4\n-line 3\n+other\n", 0},
		{"added at the start", plain, "new\n" + plain, "@ line 1\n+new\n", 0},
		{"gone at the end", plain, strings.TrimSuffix(plain, "line 19\n"), "@ line 20\n-line 19\n", 0},
		{"indented", plain, strings.Replace(plain, "line 3\n", "  line 3\n", 1), "", 1},
		{"no newline", plain, strings.TrimSuffix(plain, "\n"), "@ line 21\n+\\ no newline at the end\n", 0},
		{"line end", plain, strings.Replace(plain, "line 3\n", "line 3\r\n", 1), "@ line 4\n-line 3\n+line 3\r\n", 0},
		{"a field in another record", `[{"id":1,"x":{"n":1}},{"id":2},` + rows + `{}]`, `[{"id":1},{"x":{"n":1},"id":2},` + rows + `{}]`,
			"@ line 2\n-[0].x.n: 1\n-[1].id: 2\n+[1].x.n: 1\n+[1].id: 2\n", 0},
		{"lists in lists", `[[1,2],[3],` + rows + `0]`, `[[1],[2,3],` + rows + `0]`, "@ line 2\n-[0][1]: 2\n-[1][0]: 3\n+[1][0]: 2\n+[1][1]: 3\n", 0},
		{"moved", plain, "line 19\n" + strings.TrimSuffix(plain, "line 19\n"), "@ line 1\n+line 19\n@ line 21\n-line 19\n", 0},
		{"an item first", `{"items":[` + rows + `{}]}`, `{"items":[{"id":100,"s":"new"},` + rows + `{}]}`, "@ line 1\n+items[0].id: 100\n+items[0].s: \"new\"\n", 0},
		{"a value", `[` + rows + `{}]`, `[` + strings.Replace(rows, `{"id":7,"s":"open"}`, `{"id":7,"s":"shut"}`, 1) + `{}]`, "@ line 16\n-[7].s: \"open\"\n+[7].s: \"shut\"\n", 0},
	} {
		c := Between(t.Context(), doc.Recognise([]byte(tt.old), nil), doc.Recognise([]byte(tt.new), nil))
		if c == nil || c.String() != tt.want || c.Reindented != tt.reindented {
			t.Errorf("%s: %v, want %q", tt.name, c, tt.want)
		}
	}
	deep := strings.Repeat(`{"`+strings.Repeat("k", 1000)+`":`, 900) + "[" + strings.Repeat("1,", 10_000) + "1]" + strings.Repeat("}", 900)
	for name, pair := range map[string][2]string{
		"paths longer than all else": {deep, strings.Replace(deep, "1]", "2]", 1)},
		"other":                      {plain, strings.ReplaceAll(plain, "line", "row")},
		"kinds":                      {plain, `["line 1"]`},
		"all line ends":              {plain, strings.ReplaceAll(plain, "\n", "\r\n")},
		"tabs":                       {plain + " x\n", plain + "\tx\n"},
		"many lines":                 {strings.Repeat("\n", maxLines+1), strings.Repeat("\n", maxLines+1) + "a\n"},
		"half of it":                 {plain, plain[len(plain)/2:]},
	} {
		if c := Between(t.Context(), doc.Recognise([]byte(pair[0]), nil), doc.Recognise([]byte(pair[1]), nil)); c != nil {
			t.Errorf("%s: %q is told", name, c)
		}
	}
}

// TestPage: what a click changes on a page of 302 lines.
func TestPage(t *testing.T) {
	read := func(name string) doc.Value {
		b, err := outputs.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		return doc.Recognise(b, nil)
	}
	c := Between(t.Context(), read("page-before-click.txt"), read("page-after-click.txt"))
	if c == nil {
		t.Fatal("nothing is told")
	}
	if got := c.String(); !strings.Contains(got, `[expanded] [active]`) || !strings.Contains(got, `+`) {
		t.Errorf("%s", got)
	}
	t.Logf("%d indented\n%s", c.Reindented, c)
}

// TestApplied makes the new document of the old one and the changes.
func TestApplied(t *testing.T) {
	told := 0
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{"a", "b", "c", "", "d", "e", "f", "g", "h"})
		old := rapid.SliceOfN(words, 1, 40).Draw(t, "old")
		new := append([]string{}, old...)
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			at := rapid.IntRange(0, len(new)-1).Draw(t, "at")
			new[at] = words.Draw(t, "word")
			if rapid.Bool().Draw(t, "insert") {
				new = append(new[:at], append([]string{words.Draw(t, "more")}, new[at:]...)...)
			}
		}
		text := func(lines []string) doc.Value {
			return doc.Value{Data: []byte(strings.Join(lines, "\n") + "\n")}
		}
		c := Between(context.Background(), text(old), text(new))
		if c == nil {
			return
		}
		told++
		var got []string
		rest := old
		for _, ch := range c.All {
			for len(got) < ch.Line-1 {
				got, rest = append(got, rest[0]), rest[1:]
			}
			for _, gone := range ch.Gone {
				if rest[0] != gone {
					t.Fatalf("%q is not gone: %q", gone, rest)
				}
				rest = rest[1:]
			}
			got = append(got, ch.Come...)
		}
		got = append(got, rest...)
		if strings.Join(got, "\n") != strings.Join(new, "\n") {
			t.Fatalf("%q to %q: %q\n%s", old, new, got, c)
		}
	})
	if told < 20 {
		t.Errorf("%d were told", told)
	}
}
