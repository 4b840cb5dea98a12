package search

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxLiterals bounds the strings that are looked for. Each costs a scan
// of its own; beyond 16 they cost what matching every line does.
const maxLiterals = 16

// A literal is a string to look for.
type literal struct {
	text   string // in lower case if fold
	fold   bool   // its letters, which are ASCII, match in either case
	before int    // bytes of a match that can stand before it, or far
}

// far is where a number of bytes counts as unbounded.
const far = 1 << 20

// requiredLiterals returns strings of which every match of re holds at least one: of
// \w+_lock(ed|ing) that is "_lock". Looking for them is a hundred times as fast as
// matching. It returns none if it knows none.
func requiredLiterals(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		if text := longestPlain(re); text != "" {
			before := longest(re) - len(text)
			if utf8.RuneCountInString(text) == len(re.Rune) {
				before = 0
			}
			return []literal{{text, re.Flags&syntax.FoldCase != 0, before}}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiterals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiterals(re.Sub[0])
		}
	case syntax.OpConcat: // any part's will do: the best
		var best []literal
		before := 0
		for _, sub := range re.Sub {
			if l := requiredLiterals(sub); worth(l) > worth(best) {
				best = l
				for i := range best {
					best[i].before = min(best[i].before+before, far)
				}
			}
			before = min(before+longest(sub), far)
		}
		return best
	case syntax.OpAlternate: // every part must have some
		var all []literal
		for _, sub := range re.Sub {
			l := requiredLiterals(sub)
			if l == nil || len(all)+len(l) > maxLiterals {
				return nil
			}
			all = append(all, l...)
		}
		return all
	}
	return nil
}

// worth ranks sets: long strings skip more text, few cost less to look for.
func worth(set []literal) int {
	if len(set) == 0 {
		return 0
	}
	shortest := 8
	for _, l := range set {
		shortest = min(shortest, len(l.text))
	}
	return shortest*maxLiterals - len(set) + 1
}

// longest returns how many bytes a match of re has at most, or far.
func longest(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = utf8.UTFMax * len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = utf8.UTFMax
	case syntax.OpCapture, syntax.OpQuest:
		n = longest(re.Sub[0])
	case syntax.OpRepeat:
		if n = longest(re.Sub[0]) * re.Max; re.Max < 0 {
			n = far
		}
	case syntax.OpStar, syntax.OpPlus:
		n = far
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n = min(n+longest(sub), far)
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			n = max(n, longest(sub))
		}
	}
	return min(n, far)
}

// longestPlain returns the longest part of a literal whose bytes must stand
// in the text. U+FFFD is not plain: it also matches invalid UTF-8. Nor are
// other letters than ASCII in either case: their cases differ in length.
func longestPlain(re *syntax.Regexp) string {
	fold := re.Flags&syntax.FoldCase != 0
	best, part := "", ""
	for _, r := range re.Rune {
		switch {
		case r == utf8.RuneError, fold && r >= utf8.RuneSelf:
			part = ""
		case fold:
			part += string(lowerASCII(byte(r)))
		default:
			part += string(r)
		}
		if len(part) > len(best) {
			best = part
		}
	}
	return best
}

// canFind reports whether no match in text is missed by looking for literals. Two
// letters outside ASCII match k and s in either case: the Kelvin sign and the long s.
func canFind(literals []literal, text []byte) bool {
	for _, l := range literals {
		if l.fold && strings.ContainsAny(l.text, "ks") {
			return !bytes.Contains(text, []byte("\u212a")) && !bytes.Contains(text, []byte("\u017f"))
		}
	}
	return len(literals) > 0
}

// A finder finds literals in a text one after another. It remembers where each of
// them is next, so that the text is read once for each.
type finder struct {
	literals []literal
	at       []int // where each is next, len(text) if nowhere; before the first search -1
	text     []byte
	lower    []byte // text in lower case, if one of them needs it
}

// reset makes f start over, in another text.
func (f *finder) reset(text []byte) {
	f.text, f.lower, f.at = text, f.lower[:0], f.at[:0]
	for _, l := range f.literals {
		f.at = append(f.at, -1)
		if l.fold && len(f.lower) == 0 {
			for _, b := range text {
				f.lower = append(f.lower, lowerASCII(b))
			}
		}
	}
}

// next returns where the first literal at or after pos is, or len(text).
func (f *finder) next(pos int) int {
	first := len(f.text)
	for i, l := range f.literals {
		if f.at[i] < pos {
			text := f.text
			if l.fold {
				text = f.lower
			}
			f.at[i] = len(text)
			if at := bytes.Index(text[pos:], []byte(l.text)); at >= 0 {
				f.at[i] = pos + at
			}
		}
		first = min(first, f.at[i])
	}
	return first
}
