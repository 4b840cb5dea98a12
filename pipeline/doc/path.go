package doc

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

// A Path names places in a JSON document: a key, an index or "each" a step.
// A key applied to an array means the key of each element, so
// items.user.name and items[].user.name name the same places.
//
// It is written as jq writes it, without the leading dot:
//
//	items[].user.name     each is []; it may be left out
//	items[3].name         an index; negative ones are not known
//	items["a.b"].c        a key that is not a plain word
//	items[].user?.name    what has no such step, as jq sees it, is passed over
//	payload|fromjson|.id  a string that holds JSON is entered
//
// So "." and what [Path.String] returns are a jq program, as long as every
// array and every string to enter is spelt out, which they are in what this
// package prints. Elsewhere both are implied, and ? is: fields and the path
// of an outline mean the same without.
type Path []Step

// A Step is one key, one index, each member, or the way into a string.
type Step struct {
	Key   string
	Index int // used if Kind is StepIndex
	Kind  StepKind
	Try   bool // jq's ?: values of another type are passed over
}

// A StepKind says which part of a [Step] counts.
type StepKind uint8

const (
	StepKey   StepKind = iota
	StepIndex          // an element of an array
	StepEach           // every element of an array, every value of an object
	StepJSON           // what a string holds, read as JSON
)

// ParsePath reads what [Path.String] writes, and what people write instead:
// a leading "." or "$.", a trailing ".", [*] for [], ."quoted key",
// ['single quotes'], spaces around the | of |fromjson, and bare keys with any
// character but . [ and ", ? at the end excepted.
func ParsePath(s string) (Path, error) {
	fail := func(at int, what string) (Path, error) {
		return nil, Invalid(`write paths like items.user.name, and keys with dots like items["a.b"].c`,
			"path %s: %s at character %d", show.Quote(show.Clip(s, 60)), what, utf8.RuneCountInString(s[:at])+1)
	}
	if len(s) > 4096 {
		return nil, Invalid("", "path of %s bytes; 4,096 are allowed", show.Count(len(s)))
	}
	var p Path
	i := 0
	if strings.HasPrefix(s, "$.") || strings.HasPrefix(s, "$[") || s == "$" {
		i = 1
	}
	for i < len(s) {
		if step, n := fromJSON(s[i:]); n > 0 {
			p = append(p, step)
			i += n
			continue
		}
		var step Step
		n := 0
		switch c := s[i]; c {
		case '.':
			if i++; i < len(s) && s[i] == '.' {
				return fail(i, "empty key")
			}
			continue
		case '"':
			if step.Key, n = leadingString(s[i:]); n == 0 {
				return fail(i, "the quote is not closed")
			}
		case '[':
			if step, n = bracket(s[i:]); n == 0 {
				return fail(i, "brackets need an index or a quoted key")
			}
		default:
			n = bareKey(s[i:])
			if step.Key = s[i : i+n]; step.Key == "*" {
				step = Step{Kind: StepEach}
			}
		}
		i += n
		for i < len(s) && s[i] == '?' {
			step.Try = true
			i++
		}
		p = append(p, step)
	}
	return p, nil
}

// fromJSON reads |fromjson or |fromjson? with the | behind it, and returns
// its length, 0 if s starts with something else.
func fromJSON(s string) (Step, int) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(s, " "), "|")
	if !ok {
		return Step{}, 0
	}
	if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " "), "fromjson"); !ok {
		return Step{}, 0
	}
	step := Step{Kind: StepJSON, Try: strings.HasPrefix(rest, "?")}
	rest = strings.TrimLeft(strings.TrimLeft(rest, "?"), " ")
	if rest != "" && !strings.ContainsRune("|.[", rune(rest[0])) {
		return Step{}, 0 // |fromjsonp, say, is part of a key
	}
	if next, ok := strings.CutPrefix(rest, "|"); ok {
		// The | of another |fromjson belongs to that.
		if next = strings.TrimLeft(next, " "); !strings.HasPrefix(next, "fromjson") {
			rest = next
		}
	}
	return step, len(s) - len(rest)
}

// bareKey is the length of the key without quotes that s starts with.
func bareKey(s string) int {
	n := strings.IndexAny(s, `.["`)
	if n < 0 {
		n = len(s)
	}
	for i := range n {
		if s[i] != '|' {
			continue
		}
		// i is not the start: what is |fromjson there was read before.
		if _, ok := fromJSON(s[i:]); ok > 0 {
			n = len(strings.TrimRight(s[:i], " "))
			break
		}
	}
	if key := strings.TrimRight(s[:n], "?"); key != "" {
		n = len(key)
	}
	return n
}

// bracket reads [], [*], [3], ["key"] or ['key'] and returns its length, 0 if
// it is none of them.
func bracket(s string) (Step, int) {
	switch {
	case strings.HasPrefix(s, "[]"):
		return Step{Kind: StepEach}, 2
	case strings.HasPrefix(s, "[*]"):
		return Step{Kind: StepEach}, 3
	case strings.HasPrefix(s, `["`):
		if key, n := leadingString(s[1:]); n > 0 && strings.HasPrefix(s[1+n:], "]") {
			return Step{Key: key}, n + 2
		}
	case strings.HasPrefix(s, "['"):
		if end := strings.Index(s, "']"); end > 1 {
			return Step{Key: s[2:end]}, end + 2
		}
	default:
		end := strings.IndexByte(s, ']')
		if end < 0 {
			break
		}
		if n, err := strconv.ParseUint(s[1:end], 10, 31); err == nil {
			return Step{Kind: StepIndex, Index: int(n)}, end + 1
		}
	}
	return Step{}, 0
}

// leadingString decodes the JSON string that s starts with.
func leadingString(s string) (string, int) {
	raw := []byte(s)
	end := jsonscan.SkipString(raw, 0)
	if end < 2 || !jsonscan.Valid(raw[:end], 0) {
		return "", 0
	}
	return jsonscan.Unquote(raw[:end]), end
}

// String writes p so that [ParsePath] reads it back; "" is the whole document.
func (p Path) String() string {
	var b []byte
	for i, s := range p {
		if i > 0 && p[i-1].Kind == StepJSON && s.Kind != StepJSON {
			b = append(b, "|."...)
		}
		switch {
		case s.Kind == StepJSON:
			b = append(b, "|fromjson"...)
		case s.Kind == StepEach:
			b = append(b, "[]"...)
		case s.Kind == StepIndex:
			b = append(strconv.AppendInt(append(b, '['), int64(s.Index), 10), ']')
		case IsWord(s.Key):
			if n := len(b); n > 0 && b[n-1] != '.' {
				b = append(b, '.')
			}
			b = append(b, s.Key...)
		default:
			b = append(jsonscan.AppendQuote(append(b, '['), s.Key), ']')
		}
		if s.Try {
			b = append(b, '?')
		}
	}
	return string(b)
}

// JQ is the jq program that yields what is at p.
func (p Path) JQ() string { return "." + p.String() }

// With is p and one more step, in memory of its own.
func (p Path) With(s Step) Path {
	return append(p[:len(p):len(p)], s)
}

// IsWord reports whether jq reads s behind a dot.
func IsWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
