package redact

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// anyName begins most rules: the name that a keyword is the end of. It says nothing of
// the secret, and takes most of the time.
const anyName = `[\w.-]{0,50}?`

const (
	firstReach = 4 << 10  // how far behind a keyword a secret is looked for that may be of any length
	lastReach  = 64 << 10 // and at most, where anything may stand between
	behind     = 1 << 10  // how far before a keyword that may stand anywhere in a match
)

// A shape is how a rule's expression is tried where one of its keywords stands.
type shape struct {
	// search has the expression without anyName. Where atKeyword is set, it begins with
	// any byte, and what follows that is tried only where a keyword begins.
	search    *regexp.Regexp
	atKeyword bool
	leads     bool // a match begins with a keyword
	named     bool // the expression began with anyName
	reach     int  // how far behind a keyword a match may go, at first
}

func newShape(expr string, words []string) (shape, error) {
	var s shape
	head := ""
	if strings.HasPrefix(expr, "(?i)") {
		head = "(?i)"
	}
	if rest, ok := strings.CutPrefix(expr[len(head):], anyName); ok {
		s.named, expr = true, head+rest
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return s, err
	}
	s.named = s.named && tree.Op == syntax.OpConcat // no alternatives of which one began so
	firsts, _ := leading(tree)
	s.leads = !slices.ContainsFunc(firsts, func(first string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(first, strings.ToLower(w)) })
	})
	most, wide := longest(tree)
	s.atKeyword = s.leads && !wide
	switch {
	case wide:
		s.reach = lastReach
	case most < 0:
		s.reach = firstReach
	default:
		s.reach = min(most, lastReach) + 1 // a byte more, for \b
	}
	if s.atKeyword {
		expr = `^(?s:.)(?:` + expr + `)`
	}
	s.search, err = regexp.Compile(expr)
	return s, err
}

// mostFirsts is how many beginnings are told apart.
const mostFirsts = 256

// leading returns what every match of re begins with, one of these, in lower case; whole
// says that these are the matches.
func leading(re *syntax.Regexp) (firsts []string, whole bool) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}, true
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}, true
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if firsts = append(firsts, strings.ToLower(string(c))); len(firsts) > 40 {
					return []string{""}, false
				}
			}
		}
		slices.Sort(firsts)
		return slices.Compact(firsts), true
	case syntax.OpCapture:
		return leading(re.Sub[0])
	case syntax.OpPlus, syntax.OpRepeat:
		if re.Op == syntax.OpPlus || re.Min > 0 {
			firsts, _ = leading(re.Sub[0])
			return firsts, false
		}
	case syntax.OpQuest:
		firsts, whole = leading(re.Sub[0])
		return append(firsts, ""), whole
	case syntax.OpAlternate:
		whole = true
		for _, sub := range re.Sub {
			more, all := leading(sub)
			firsts, whole = append(firsts, more...), whole && all
		}
		return firsts, whole
	case syntax.OpConcat:
		firsts = []string{""}
		for _, sub := range re.Sub {
			more, all := leading(sub)
			if len(firsts)*len(more) > mostFirsts {
				return firsts, false
			}
			var both []string
			for _, a := range firsts {
				for _, b := range more {
					both = append(both, a+b)
				}
			}
			if firsts = both; !all {
				return firsts, false
			}
		}
		return firsts, true
	}
	return []string{""}, false
}

// longest returns how many bytes a match of re has at most, -1 for any number; wide says
// that spaces can be among that many.
func longest(re *syntax.Regexp) (most int, wide bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return len(string(re.Rune)), false
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 4, false
	case syntax.OpStar, syntax.OpPlus:
		return -1, spaced(re.Sub[0])
	case syntax.OpRepeat:
		most, wide = longest(re.Sub[0])
		if re.Max < 0 {
			return -1, wide || spaced(re.Sub[0])
		}
		return max(most*re.Max, min(most, 0)), wide
	case syntax.OpAlternate, syntax.OpConcat, syntax.OpCapture, syntax.OpQuest:
		for _, sub := range re.Sub {
			n, w := longest(sub)
			wide = wide || w
			switch {
			case n < 0 || most < 0:
				most = -1
			case re.Op == syntax.OpAlternate:
				most = max(most, n)
			default:
				most += n
			}
		}
	}
	return most, wide
}

// spaced reports whether a space can match in re.
func spaced(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= ' ' && ' ' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(re.Sub, spaced)
}
