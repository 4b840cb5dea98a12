package search

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxRequired bounds the strings that are looked for. Each costs a scan
// of its own; beyond 16 they cost what matching every line does.
const maxRequired = 16

// A required is a set of strings of which every match of a pattern holds at least
// one: of \w+_lock(ed|ing) it is "_lock". Looking for them is a hundred times as
// fast as matching. An empty set says nothing.
type required struct {
	literals []literal
	// exact says that matches are what the only literal matches.
	exact bool
}

// A literal is a string to look for.
type literal struct {
	text string // in lower case if fold
	fold bool   // its letters, which are ASCII, match in either case
}

// requiredBy derives the set from the syntax tree of a pattern.
func requiredBy(tree *syntax.Regexp) required {
	r := required{literals: literalsOf(tree)}
	if len(r.literals) == 1 && tree.Op == syntax.OpLiteral {
		text := r.literals[0].text
		r.exact = utf8.RuneCountInString(text) == len(tree.Rune) && !strings.ContainsAny(text, "\r\n")
	}
	return r
}

func literalsOf(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		if text := longestPlain(re); text != "" {
			return []literal{{text, re.Flags&syntax.FoldCase != 0}}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return literalsOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literalsOf(re.Sub[0])
		}
	case syntax.OpConcat: // any part's will do: the best
		var best []literal
		for _, sub := range re.Sub {
			if l := literalsOf(sub); worth(l) > worth(best) {
				best = l
			}
		}
		return best
	case syntax.OpAlternate: // every part must have some
		var all []literal
		for _, sub := range re.Sub {
			l := literalsOf(sub)
			if l == nil || len(all)+len(l) > maxRequired {
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
	return shortest*maxRequired - len(set) + 1
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

// holdsFor reports whether text can be searched by looking for r. Two letters outside
// ASCII match k and s in either case, the Kelvin sign and the long s; in a
// text with one of them the literals would miss a match.
func (r required) holdsFor(text []byte) bool {
	for _, l := range r.literals {
		if l.fold && strings.ContainsAny(l.text, "ks") {
			return !bytes.Contains(text, []byte("\u212a")) && !bytes.Contains(text, []byte("\u017f"))
		}
	}
	return len(r.literals) > 0
}

// A finder finds literals in a text one after another. It remembers where each of
// them is next, so that the text is read once for each.
type finder struct {
	literals []literal
	next     []int // where each is next, len(text) if nowhere; before the first search -1
	text     []byte
	lower    []byte // text in lower case, if one of them needs it
}

// reset makes f start over, in another text.
func (f *finder) reset(text []byte) {
	f.text, f.lower, f.next = text, f.lower[:0], f.next[:0]
	for _, l := range f.literals {
		f.next = append(f.next, -1)
		if l.fold && len(f.lower) == 0 {
			f.lower = append(f.lower, text...)
			for i, b := range f.lower {
				f.lower[i] = lowerASCII(b)
			}
		}
	}
}

// find returns where the first literal at or after from is. At the end of text it
// returns an empty span.
func (f *finder) find(from int) Span {
	first := Span{len(f.text), len(f.text)}
	for i, l := range f.literals {
		if f.next[i] < from {
			text := f.text
			if l.fold {
				text = f.lower
			}
			f.next[i] = len(text)
			if at := bytes.Index(text[from:], []byte(l.text)); at >= 0 {
				f.next[i] = from + at
			}
		}
		if at := f.next[i]; at < first.Start {
			first = Span{at, at + len(l.text)}
		}
	}
	return first
}
