package digest

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"testing"

	"rlmproxy/bench/corpus"
)

// TestCodeBegins: codeBegins and blanks are all that a match of plainCode can begin
// with.
func TestCodeBegins(t *testing.T) {
	tree, err := syntax.Parse(plainCode().String(), syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		t.Fatal(err)
	}
	var first []*syntax.Inst
	seen := map[uint32]bool{}
	var walk func(pc uint32)
	walk = func(pc uint32) {
		if seen[pc] {
			return
		}
		seen[pc] = true
		switch in := &prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			walk(in.Out)
			walk(in.Arg)
		case syntax.InstCapture, syntax.InstEmptyWidth, syntax.InstNop:
			walk(in.Out)
		case syntax.InstMatch:
			t.Error("it matches nothing")
		case syntax.InstFail:
		default:
			first = append(first, in)
		}
	}
	walk(uint32(prog.Start))
	for c := rune(0); c < 256; c++ {
		can := false
		for _, in := range first {
			can = can || in.MatchRune(c)
		}
		if known := c < 128 && strings.IndexByte(codeBegins+" \t\n\f\r", byte(c)) >= 0; can && !known {
			t.Errorf("%q is missing", c)
		} else if known && !can {
			t.Errorf("%q begins nothing", c)
		}
	}
}

// TestIsPlainCode holds it against plainCode, on lines of the corpus and on what
// is left of them behind each of their first bytes.
func TestIsPlainCode(t *testing.T) {
	for _, f := range corpus.Files {
		data, err := corpus.Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		data = data[:min(len(data), 8_000)]
		for line := range bytes.Lines(data) {
			line = bytes.TrimRight(line[:min(len(line), 200)], "\r\n")
			for i := range min(len(line), 5) {
				if got, want := isPlainCode(line[i:]), plainCode().Match(line[i:]); got != want {
					t.Fatalf("%s: %q: %t, want %t", f.Name, line[i:], got, want)
				}
			}
		}
	}
	for _, line := range []string{"", " ", "def x", " def x", "\t def self.x?", "\vdef x", "  defx", "1def x", "def  x", " def\tx"} {
		if got, want := isPlainCode([]byte(line)), plainCode().MatchString(line); got != want {
			t.Errorf("%q: %t, want %t", line, got, want)
		}
	}
}
