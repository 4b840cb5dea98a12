package search

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// longPatterns are of all kinds: with and without required strings, of any length
// and not, and such as look at what is beside a match.
var longPatterns = []string{
	`ab`, `(?i)ab`, `\bab\b`, `\Bab`, `ab|cd|ef`, `(?i)ab|cd`, `\b\w+_ab\w*\b`, `\w+ab`, `ab\w+`, `[a-c]*ab[d-f]*`,
	`^ab`, `ab$`, `^.*ab`, `ab.*$`, `^ab|cd$`, `.*ab.*`, `.*?ab`, `ab.*?cd`, `a.{0,3}b`, `a.{2,5}b.{0,4}`, `(ab)+`, `(?:ab){2,3}c?`,
	`(ab|c)*d`, `a(b|cd)e?`, `[^ ]*ab[^ ]*`, `"[^"]*ab[^"]*"`, `\d+`, `\d{2,4}`, `\b\d+\b`, `\w`, `\W+`, `.`, `..`, `.{3}`, `\b`, `\B`, `^`, `$`, `a*`,
	`(a|b)*`, `a?b?`, `é+`, `[é-ü]b`, `aé?b`, `\x{fffd}`, `a\x{fffd}b`, `(?i)ks`, `(?i)ſ`, `\pL+`, `\PL+`, `[a-z]+|\d+`, `a|ab|abc`, `abc|ab|a`,
	`(?:a|ab)(?:c|bcd)`, `\ba\w*|\w*b\b`, `a{0,5}b`, `(a+b+)+`, `(?:x?ab){1,2}`, `a\b.`, `.\ba`, `_\b`, `^\W*ab`, `(?:ab|[a-c]{2,3}d)e*`,
	`a+?b*?`, `[ab]{3,}`, `ab[^\d]{0,2}\d`, `\Aab`, `ab\z`, `(?:^| )ab(?:$| )`, `ab\B.`, `\x00`, `[^a]`, `ab^cd`, `(?m)^ab$`,
}

// TestLongLine: a long line has the matches that the regexp package finds in it.
func TestLongLine(t *testing.T) {
	word := rapid.SampledFrom([]string{
		"ab", "AB", "a", "b", "c", "cd", "e", "f", "x_ab", "ab_x", "abab", "1", "23", " ", " ", "_", "-", ".", "\"", "é", "ü", "ab\xc3", "\xa9", "\xff", "\x82ab",
		"\u212a", "ſ", "k", "s", "KS", "日本", "\x00", "\ufffd", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "\r",
	})
	rapid.Check(t, func(t *rapid.T) {
		line := []byte(strings.Join(rapid.SliceOfN(word, 0, 60).Draw(t, "words"), ""))
		checkRegex(t, line, mustCompile(t, rapid.SampledFrom(longPatterns).Draw(t, "pattern"), rapid.Bool().Draw(t, "fold")))
	})
}

// TestLongLines is the same with lines of 5 KB.
func TestLongLines(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, alphabet := range [][]string{
		{"ab", "a", "b", "cd", " ", "_", "1", "x_ab", "é", "\xff", "\""},
		{"zz", "yy ", "é", "ab", "-", "-", "-", "-", "-", "-"},
	} {
		var line []byte
		for len(line) < 5_000 {
			line = append(line, alphabet[rnd.IntN(len(alphabet))]...)
		}
		for _, expr := range longPatterns {
			checkRegex(t, line, mustCompile(t, expr, false))
		}
	}
}
