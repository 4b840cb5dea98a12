package search

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxNeedles bounds the strings that one pass looks for. Each costs a scan
// of its own; beyond 16 they cost what matching every line does.
const maxNeedles = 16

// A prefilter is a set of strings of which every match holds at least one.
// Empty, it knows nothing.
type prefilter struct {
	needles []needle
	exact   bool // matches are the occurrences of the only needle

	// before and after are how far a match reaches on either side of the needle
	// that it holds.
	before, after []extent
}

// A needle is a string to look for by its rarest byte.
type needle struct {
	lit    string // lower case if fold
	fold   bool   // ASCII letters match in either case
	rare   int    // index of the rarest byte of lit
	lo, up byte   // that byte in both cases
}

// required derives the prefilter of a pattern from its syntax tree.
func required(tree *syntax.Regexp) prefilter {
	f := literals(tree)
	if len(f.needles) == 1 && tree.Op == syntax.OpLiteral {
		lit := f.needles[0].lit
		f.exact = utf8.RuneCountInString(lit) == len(tree.Rune) && !strings.ContainsAny(lit, "\r\n")
	}
	return f
}

// literals returns strings of which every match of re holds at least one, or
// nothing.
func literals(re *syntax.Regexp) prefilter {
	switch re.Op {
	case syntax.OpLiteral:
		if lit := longestPlain(re); lit != "" {
			f := prefilter{needles: []needle{newNeedle(lit, re.Flags&syntax.FoldCase != 0)}}
			if utf8.RuneCountInString(lit) < len(re.Rune) {
				f.before = extents(re)
				f.after = f.before
			}
			return f
		}
	case syntax.OpCapture:
		return literals(re.Sub[0])
	case syntax.OpPlus, syntax.OpRepeat:
		if re.Op == syntax.OpPlus || re.Min > 0 {
			f := literals(re.Sub[0])
			all := extents(re)
			f.before, f.after = joined(all, f.before), joined(f.after, all)
			return f
		}
	case syntax.OpConcat:
		var best prefilter
		at := 0
		for i, sub := range re.Sub {
			if f := literals(sub); worth(f.needles) > worth(best.needles) {
				best, at = f, i
			}
		}
		var before []extent
		for _, sub := range re.Sub[:at] {
			before = joined(before, extents(sub))
		}
		best.before = joined(before, best.before)
		for _, sub := range re.Sub[at+1:] {
			best.after = joined(best.after, extents(sub))
		}
		return best
	case syntax.OpAlternate:
		var all prefilter
		var before, after [][]extent
		for _, sub := range re.Sub {
			f := literals(sub)
			if f.needles == nil || len(all.needles)+len(f.needles) > maxNeedles {
				return prefilter{}
			}
			all.needles = append(all.needles, f.needles...)
			before, after = append(before, f.before), append(after, f.after)
		}
		all.before, all.after = either(before), either(after)
		return all
	}
	return prefilter{}
}

// worth ranks sets: long strings skip more text, few cost less to look for.
func worth(set []needle) int {
	if len(set) == 0 {
		return 0
	}
	shortest := 8
	for _, n := range set {
		shortest = min(shortest, len(n.lit))
	}
	return shortest*maxNeedles - len(set) + 1
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

func newNeedle(lit string, fold bool) needle {
	n := needle{lit: lit, fold: fold}
	for i := range len(lit) {
		if rarity(lit[i]) > rarity(lit[n.rare]) {
			n.rare = i
		}
	}
	n.lo, n.up = lit[n.rare], lit[n.rare]
	if fold && 'a' <= n.lo && n.lo <= 'z' {
		n.up -= 'a' - 'A'
	}
	return n
}

// byCommonness lists bytes from common to rare in a mix of English, JSON,
// logs and source. The order matters for speed only.
const byCommonness = " etaoinsrl\"dc,uhpm0:.f1g2/y_-b3w5v4869k7{}xj()qz"

// rarity is higher for rarer bytes, highest for those not listed.
func rarity(b byte) int {
	if i := strings.IndexByte(byCommonness, lowerASCII(b)); i >= 0 {
		return i
	}
	return len(byCommonness)
}

func lowerASCII(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// fits reports whether the prefilter holds for text. Two letters outside
// ASCII match k and s in either case, the Kelvin sign and the long s; in a
// text with one of them the needles would miss a match.
func (f prefilter) fits(text []byte) bool {
	for _, n := range f.needles {
		if n.fold && strings.ContainsAny(n.lit, "ks") {
			return !bytes.Contains(text, []byte("\u212a")) && !bytes.Contains(text, []byte("\u017f"))
		}
	}
	return len(f.needles) > 0
}

// A finder finds the needles in a text one after another. It remembers
// where each of them is next, so that a pass reads the text once for each.
type finder struct {
	text    []byte
	cursors []cursor
}

type cursor struct {
	needle
	bytes          []byte // lit
	at             int    // next occurrence, -1 unknown, len(text) none
	nextLo, nextUp int    // next rare byte in both cases, likewise
}

func newFinder(needles []needle) *finder {
	f := new(finder)
	for _, n := range needles {
		f.cursors = append(f.cursors, cursor{needle: n, bytes: []byte(n.lit)})
	}
	return f
}

// reset makes f start over, in another text.
func (f *finder) reset(text []byte) {
	f.text = text
	for i := range f.cursors {
		c := &f.cursors[i]
		c.at, c.nextLo, c.nextUp = -1, -1, -1
	}
}

// next returns where the first needle at or after from begins and how long
// it is, or -1.
func (f *finder) next(from int) (at, size int) {
	at = len(f.text)
	for i := range f.cursors {
		c := &f.cursors[i]
		if c.at < from {
			c.advance(f.text, from)
		}
		if c.at < at {
			at, size = c.at, len(c.lit)
		}
	}
	if at == len(f.text) {
		return -1, 0
	}
	return at, size
}

func (c *cursor) advance(text []byte, from int) {
	if !c.fold {
		c.at = len(text)
		if from < len(text) {
			if i := bytes.Index(text[from:], c.bytes); i >= 0 {
				c.at = from + i
			}
		}
		return
	}
	for i := from + c.rare; ; i++ {
		if c.nextLo < i {
			c.nextLo = indexByte(text, i, c.lo)
		}
		if c.nextUp < i {
			c.nextUp = indexByte(text, i, c.up)
		}
		i = min(c.nextLo, c.nextUp)
		start := i - c.rare
		if i == len(text) || start+len(c.lit) > len(text) {
			c.at = len(text)
			return
		}
		if equalFoldASCII(text[start:start+len(c.lit)], c.lit) {
			c.at = start
			return
		}
	}
}

// indexByte returns where b is next at or after from, or len(text).
func indexByte(text []byte, from int, b byte) int {
	if from < len(text) {
		if i := bytes.IndexByte(text[from:], b); i >= 0 {
			return from + i
		}
	}
	return len(text)
}

// equalFoldASCII compares b to lower, which is in lower case.
func equalFoldASCII(b []byte, lower string) bool {
	for i := range len(lower) {
		if lowerASCII(b[i]) != lower[i] {
			return false
		}
	}
	return true
}
