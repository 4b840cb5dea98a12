package search

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// Required is what every match of a pattern holds: one of a few strings. Who looks for
// those first need match but a window around each.
type Required struct {
	literals []literal

	// Before is how many characters of a match can stand before the string, and Longest
	// how many the whole match has at most. Both are -1 if there is no bound.
	Before, Longest int
	// InLine says that no match holds a line break.
	InLine bool
}

// RequiredOf returns what every match of an RE2 pattern holds, or nil if nothing is known.
func RequiredOf(pattern string) *Required {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	r := &Required{literals: requiredLiterals(tree), InLine: true}
	if len(r.literals) == 0 {
		return nil
	}
	before := 0
	for _, l := range r.literals {
		before = max(before, l.before)
	}
	r.Before, r.Longest = characters(before), characters(longest(tree))
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil
	}
	for _, inst := range prog.Inst {
		switch inst.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			r.InLine = r.InLine && !inst.MatchRune('\n')
		}
	}
	return r
}

// characters is a bound in bytes, as longest has it, in characters.
func characters(n int) int {
	if n >= far {
		return -1
	}
	return (n + utf8.UTFMax - 1) / utf8.UTFMax
}

// Absent reports that none of the strings is in a short text.
func (r *Required) Absent(text string) bool {
	return !slices.ContainsFunc(r.literals, func(l literal) bool { return l.fold || strings.Contains(text, l.text) })
}

// In returns a function for the place of the first such string at or behind an offset, or
// len(text); its offsets must not fall. It is nil if a match could do without them in
// this text.
func (r *Required) In(text string) func(from int) int {
	b := []byte(text)
	if !canFind(r.literals, b) {
		return nil
	}
	f := &finder{literals: r.literals}
	f.reset(b)
	return f.next
}
