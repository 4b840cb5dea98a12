package search

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestPassages(t *testing.T) {
	para := strings.Repeat("word ", 60) + "\n" // 301 bytes
	item := "    call();\n"
	tests := []struct {
		name string
		text []string // the passages expected; the text is all of them
	}{
		{"empty", nil},
		{"one", []string{"word"}},
		{"paragraphs", []string{para + "\n", para + "\n\n", para}},
		{"short paragraphs", []string{strings.Repeat("ab\n\n", 60), strings.Repeat("ab\n\n", 5)}},
		{"headings", []string{para, "# A\n## B\n" + para, "## C\n" + para}},
		{"crlf", []string{"# A\r\n\r\n" + para + "\r\n", para}},
		{"definitions", []string{"func a() {\n" + strings.Repeat(item, 25) + "}\n", "func b() {\n" + strings.Repeat(item, 25) + "}\n"}},
		{"long block", []string{strings.Repeat("12345678\n", 133), strings.Repeat("12345678\n", 20)}},
		{"margin", []string{"a:\n" + strings.Repeat("  b\n", 199), "c:\n" + strings.Repeat("  b\n", 200)}},
		{"methods", []string{"class A {\n" + method("a") + method("b") + method("c") + "}\n", "class B {\n" + method("d") + "}\n"}},
		{"many methods", []string{"class A {\n" + strings.Repeat(method("a"), 3), method("a"), method("a")}},
		{"long line", []string{strings.Repeat("1234567 ", 150), strings.Repeat("1234567 ", 10)}},
		{"json", []string{strings.Repeat("1234567,", 150), strings.Repeat("1234567,", 10)}},
		{"no breaks", []string{strings.Repeat("é", 600), strings.Repeat("é", 10)}},
	}
	for _, tt := range tests {
		text := strings.Join(tt.text, "")
		var got []string
		for _, p := range Passages([]byte(text)) {
			got = append(got, text[p.Start:p.End])
		}
		if len(tt.text) > 0 || len(got) > 0 {
			if diff := cmp.Diff(tt.text, got); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
			}
		}
	}
}

// method is one with its comment, which leads to it.
func method(name string) string {
	return "  /**\n   * " + strings.Repeat("What it does. ", 20) + "\n   */\n  " + name + "(x: number): string {\n    return x;\n  }\n"
}

// checkPassages holds Passages to its promises.
func checkPassages(t *testing.T, text []byte) {
	t.Helper()
	at := 0
	for _, p := range Passages(text) {
		if p.Start != at || p.Len() < 1 || p.Len() > maxPassageBytes {
			t.Fatalf("%.100q: passage %v after %d", text, p, at)
		}
		if utf8.Valid(text) && !utf8.Valid(text[p.Start:p.End]) {
			t.Fatalf("%.100q: passage %v cuts a rune", text, p)
		}
		at = p.End
	}
	if at != len(text) {
		t.Fatalf("%.100q: passages end at %d of %d", text, at, len(text))
	}
}

func TestPassagesTile(t *testing.T) {
	for _, part := range stringsOf("a# \n\xff", 4) {
		checkPassages(t, []byte(strings.Repeat(part, 1000)))
	}
}

func FuzzPassages(f *testing.F) {
	f.Add([]byte("# A\n\ntext\n  more\nend\n"), 1)
	f.Add([]byte("long line \xff"), 400)
	f.Fuzz(func(t *testing.T, part []byte, n int) {
		if n < 0 || n > 1000 || len(part) > 10000 {
			return
		}
		checkPassages(t, []byte(strings.Repeat(string(part), n)))
	})
}
