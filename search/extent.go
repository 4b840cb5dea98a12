package search

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// An extent says how far a part of a pattern can reach: at most width bytes, or,
// if width is unbounded, over a run of the runes in set. Of bounded parts set
// holds the runes too.
type extent struct {
	width int
	set   *runeSet
}

const unbounded = -1

// manyBytes is where a width counts as unbounded.
const manyBytes = 1 << 16

// extents returns the extents of re's parts, first part first. A match of re is
// no longer than they allow one after the other.
func extents(re *syntax.Regexp) []extent {
	switch re.Op {
	case syntax.OpCapture, syntax.OpQuest:
		return extents(re.Sub[0])
	case syntax.OpConcat:
		var all []extent
		for _, sub := range re.Sub {
			all = joined(all, extents(sub))
		}
		return all
	case syntax.OpAlternate:
		var lists [][]extent
		for _, sub := range re.Sub {
			lists = append(lists, extents(sub))
		}
		return either(lists)
	case syntax.OpStar, syntax.OpPlus:
		return loop(re, unbounded)
	case syntax.OpRepeat:
		return loop(re, re.Max)
	}
	set := new(runeSet)
	set.addTree(re)
	w := 0
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			w += widest(r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		if n := len(re.Rune); n > 0 {
			// U+FFFD also stands for a byte; nothing longer stands for less.
			w = utf8.RuneLen(re.Rune[n-1])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w = utf8.UTFMax
	default:
		return nil // matches no text: ^, \b and the like
	}
	return []extent{{w, set}}
}

// loop is what most repetitions of re's only part reach, or any number of them.
func loop(re *syntax.Regexp, most int) []extent {
	e := merged(extents(re.Sub[0]))
	switch {
	case e.width == 0 || most == 0:
		return nil
	case e.width == unbounded || most == unbounded || e.width*most > manyBytes:
		e.width = unbounded
	default:
		e.width *= most
	}
	return []extent{e}
}

// joined is one list after the other; neighbours with a width become one.
func joined(a, b []extent) []extent {
	for _, e := range b {
		if n := len(a) - 1; n >= 0 && a[n].width != unbounded && e.width != unbounded {
			a = append(slices.Clone(a[:n]), merged([]extent{a[n], e}))
		} else {
			a = append(a[:len(a):len(a)], e)
		}
	}
	return a
}

// merged is a list as one extent.
func merged(list []extent) extent {
	if len(list) == 1 {
		return list[0]
	}
	e := extent{set: new(runeSet)}
	for _, o := range list {
		e.set.addSet(o.set)
		if o.width == unbounded || e.width == unbounded || e.width+o.width > manyBytes {
			e.width = unbounded
		} else {
			e.width += o.width
		}
	}
	return e
}

// either reaches as far as any of the lists.
func either(lists [][]extent) []extent {
	e := extent{set: new(runeSet)}
	for _, list := range lists {
		o := merged(list)
		e.set.addSet(o.set)
		if o.width == unbounded || e.width == unbounded {
			e.width = unbounded
		} else {
			e.width = max(e.width, o.width)
		}
	}
	if e.width == 0 {
		return nil
	}
	return []extent{e}
}

// widest is the most bytes that r takes, in any case if fold.
func widest(r rune, fold bool) int {
	w := max(utf8.RuneLen(r), 1)
	if fold {
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			w = max(w, utf8.RuneLen(o))
		}
	}
	return w
}

// least returns how many bytes a match of re has at least.
func least(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = 1
	case syntax.OpCapture, syntax.OpPlus:
		n = least(re.Sub[0])
	case syntax.OpRepeat:
		n = re.Min * least(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n += least(sub)
		}
	case syntax.OpAlternate:
		n = least(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			n = min(n, least(sub))
		}
	}
	return n
}

// looksAround reports whether re has a part that matches by what is beside it.
func looksAround(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(re.Sub, looksAround)
}

// A runeSet is a set of runes, made by adding and then read.
type runeSet struct {
	ascii  [utf8.RuneSelf]bool
	ranges []rune // above ASCII: pairs of first and last, ascending once sorted
	sorted bool
}

// addTree adds every rune that a match of re may hold.
func (s *runeSet) addTree(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			s.add(r, r)
			if re.Flags&syntax.FoldCase != 0 {
				for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
					s.add(o, o)
				}
			}
		}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			s.add(re.Rune[i], re.Rune[i+1])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s.add(0, unicode.MaxRune) // lines hold no newline
	}
	for _, sub := range re.Sub {
		s.addTree(sub)
	}
}

func (s *runeSet) add(lo, hi rune) {
	for r := lo; r <= hi && r < utf8.RuneSelf; r++ {
		s.ascii[r] = true
	}
	if hi >= utf8.RuneSelf {
		s.ranges = append(s.ranges, max(lo, utf8.RuneSelf), hi)
		s.sorted = false
	}
}

func (s *runeSet) addSet(o *runeSet) {
	for r, has := range o.ascii {
		s.ascii[r] = s.ascii[r] || has
	}
	s.ranges = append(s.ranges, o.ranges...)
	s.sorted = false
}

// has reports whether r is in s. The first call sorts: a set is read by one
// goroutine.
func (s *runeSet) has(r rune) bool {
	if r < utf8.RuneSelf {
		return s.ascii[r]
	}
	if !s.sorted {
		s.sort()
	}
	i, found := slices.BinarySearch(s.ranges, r)
	return found || i%2 == 1
}

// sort orders the ranges and joins those that touch.
func (s *runeSet) sort() {
	type pair struct{ lo, hi rune }
	var pairs []pair
	for i := 0; i < len(s.ranges); i += 2 {
		pairs = append(pairs, pair{s.ranges[i], s.ranges[i+1]})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return int(a.lo - b.lo) })
	s.ranges = s.ranges[:0:0]
	for _, p := range pairs {
		if n := len(s.ranges); n > 0 && p.lo <= s.ranges[n-1]+1 {
			s.ranges[n-1] = max(s.ranges[n-1], p.hi)
		} else {
			s.ranges = append(s.ranges, p.lo, p.hi)
		}
	}
	s.sorted = true
}

// back returns where the run of runes of s that ends at pos begins, at least
// floor.
func (s *runeSet) back(text []byte, pos, floor int) int {
	for pos > floor {
		r, w := rune(text[pos-1]), 1
		if r >= utf8.RuneSelf {
			r, w = utf8.DecodeLastRune(text[:pos])
		}
		if !s.has(r) {
			break
		}
		pos -= w
	}
	return max(pos, floor)
}

// skip returns the first position from pos on that is in s, or is not, as in
// says; or len(text).
func (s *runeSet) skip(text []byte, pos int, in bool) int {
	for pos < len(text) {
		r, w := rune(text[pos]), 1
		if r >= utf8.RuneSelf {
			r, w = utf8.DecodeRune(text[pos:])
		}
		if s.has(r) == in {
			return pos
		}
		pos += w
	}
	return len(text)
}
