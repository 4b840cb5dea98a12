package search

import (
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// longPatterns are of all kinds: with and without required strings, widths and
// looks at what is beside a match.
var longPatterns = []string{
	`ab`, `(?i)ab`, `\bab\b`, `\Bab`, `ab|cd|ef`, `(?i)ab|cd`, `\b\w+_ab\w*\b`, `\w+ab`, `ab\w+`, `[a-c]*ab[d-f]*`,
	`^ab`, `ab$`, `^.*ab`, `ab.*$`, `^ab|cd$`, `.*ab.*`, `.*?ab`, `ab.*?cd`, `a.{0,3}b`, `a.{2,5}b.{0,4}`, `(ab)+`, `(?:ab){2,3}c?`,
	`(ab|c)*d`, `a(b|cd)e?`, `[^ ]*ab[^ ]*`, `"[^"]*ab[^"]*"`, `\d+`, `\d{2,4}`, `\b\d+\b`, `\w`, `\W+`, `.`, `..`, `.{3}`, `\b`, `\B`, `^`, `$`, ``, `a*`,
	`(a|b)*`, `a?b?`, `é+`, `[é-ü]b`, `aé?b`, `\x{fffd}`, `a\x{fffd}b`, `(?i)ks`, `(?i)ſ`, `\pL+`, `\PL+`, `[a-z]+|\d+`, `a|ab|abc`, `abc|ab|a`,
	`(?:a|ab)(?:c|bcd)`, `\ba\w*|\w*b\b`, `a{0,5}b`, `(a+b+)+`, `(?:x?ab){1,2}`, `a\b.`, `.\ba`, `_\b`, `^\W*ab`, `(?:ab|[a-c]{2,3}d)e*`,
	`a+?b*?`, `[ab]{3,}`, `ab[^\d]{0,2}\d`, `\Aab`, `ab\z`, `(?:^| )ab(?:$| )`, `ab\B.`, `\x00`, `[^a]`, `ab^cd`, `(?m)^ab$`,
}

func byRegexp(re *regexp.Regexp, line []byte) (spans []Span) {
	for _, m := range re.FindAllIndex(line, -1) {
		spans = append(spans, Span{m[0], m[1]})
	}
	return spans
}

// byWindows matches a line as if it were long, in pieces of size bytes if they
// serve the pattern and size is not zero.
func byWindows(t interface{ Fatal(...any) }, expr string, line []byte, size int) []Span {
	p, err := compilePattern(expr, false)
	if err != nil {
		t.Fatal(err)
	}
	s := regexScan{ctx: context.Background(), text: line, pattern: p, limit: 1 << 30, lines: lineCounter{text: line}, lastLine: -1}
	if p.filter.fits(line) {
		s.find = newFinder(p.filter.needles)
	}
	if size > 0 && p.least > 0 && p.whole.width != unbounded {
		err = s.pieces(0, line, size)
	} else {
		err = s.long(0, line)
	}
	if err != nil {
		t.Fatal(err)
	}
	var spans []Span
	for _, h := range s.found.Hits {
		spans = append(spans, h.Span)
	}
	return spans
}

// TestLongLine: windows and pieces give what the regexp package finds in the
// whole line.
func TestLongLine(t *testing.T) {
	word := rapid.SampledFrom([]string{
		"ab", "AB", "a", "b", "c", "cd", "e", "f", "x_ab", "ab_x", "abab", "1", "23", " ", " ", "_", "-", ".", "\"", "é", "ü", "ab\xc3", "\xa9", "\xff", "\x82ab",
		"\u212a", "ſ", "k", "s", "KS", "日本", "\x00", "\ufffd", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "\r",
	})
	rapid.Check(t, func(t *rapid.T) {
		line := []byte(strings.Join(rapid.SliceOfN(word, 0, 60).Draw(t, "words"), ""))
		expr := rapid.SampledFrom(longPatterns).Draw(t, "pattern")
		if expr == "" {
			expr = "()"
		}
		size := rapid.SampledFrom([]int{0, 1, 2, 3, 7, 20}).Draw(t, "size")
		want := byRegexp(regexp.MustCompile(expr), line)
		if got := byWindows(t, expr, line, size); !slices.Equal(got, want) {
			t.Fatalf("%q in %q, pieces of %d:\n got %v\nwant %v", expr, line, size, got, want)
		}
	})
}

// TestLongLineInParts is the same where windows are too much for one call.
func TestLongLineInParts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, alphabet := range [][]string{
		{"ab", "a", "b", "cd", " ", "_", "1", "x_ab", "é", "\xff", "\""},
		{"zz", "yy ", "é", "ab", "-", "-", "-", "-", "-", "-"},
		{"a", "b", "c"},
	} {
		var line []byte
		for len(line) < 40_000 {
			line = append(line, alphabet[rnd.IntN(len(alphabet))]...)
		}
		for _, expr := range longPatterns {
			if expr == "" {
				continue
			}
			want := byRegexp(regexp.MustCompile(expr), line)
			m, err := Regex(t.Context(), line, expr, RegexOptions{Limit: 1 << 30})
			if err != nil {
				t.Fatal(err)
			}
			var got []Span
			for _, h := range m.Hits {
				got = append(got, h.Span)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q: %d matches, want %d", expr, len(got), len(want))
			}
		}
	}
}

func FuzzLongLine(f *testing.F) {
	for _, p := range longPatterns {
		f.Add(p, []byte("ab x_ab\xc3 abé \"1ab\" cd ef"), 3)
	}
	f.Fuzz(func(t *testing.T, expr string, line []byte, size int) {
		if _, err := compilePattern(expr, false); err != nil || len(line) > 2000 || slices.Contains(line, '\n') {
			t.Skip()
		}
		want := byRegexp(regexp.MustCompile(expr), line)
		if got := byWindows(t, expr, line, max(size%64, 0)); !slices.Equal(got, want) {
			t.Fatalf("%q in %q, pieces of %d:\n got %v\nwant %v", expr, line, size%64, got, want)
		}
	})
}
