package jq

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"rlmproxy/search"
)

// withRegexps is the options of gojq's compiler for what builtinDefinitions use of
// regular expressions.
func withRegexps() []gojq.CompilerOption {
	cache := regexpCache{}
	return []gojq.CompilerOption{
		gojq.WithIterFunction("_match_objects", 2, 2, cache.each(matchObject, nil)),
		gojq.WithIterFunction("_match_captures", 2, 2, cache.each(namedCaptures, nil)),
		gojq.WithIterFunction("_match_strings", 2, 2, cache.each(matchStrings, nil)),
		gojq.WithIterFunction("_match_gaps", 2, 2, cache.each(func(m *match) any { return m.gap }, func(rest string) any { return rest })),
		gojq.WithIterFunction("_match_gaps_and_captures", 2, 2, cache.each(
			func(m *match) any { return []any{m.gap, namedCaptures(m)} }, func(rest string) any { return []any{rest} })),
		gojq.WithIterFunction("_join_pieces", 1, 1, joinPieces),
		gojq.WithFunction("_matches", 2, 2, cache.matches),
		gojq.WithFunction("_replace", 3, 3, cache.replace),
	}
}

// A match is one match of a regular expression in a text.
type match struct {
	text   string
	names  []string // of the groups, by number; group 0 is the whole match
	groups []int    // the offsets of begin and end in bytes, -1 for a group that did not take part
	gap    string   // what stands between the match before and this one
	start  int      // the offset of the whole match in characters
}

// group returns what group i matched; nil if it did not take part.
func (m *match) group(i int) any {
	if m.groups[2*i] < 0 {
		return nil
	}
	return m.text[m.groups[2*i]:m.groups[2*i+1]]
}

// matchObject is an output of jq's match.
func matchObject(m *match) any {
	captures := make([]any, len(m.names)-1)
	for i := range captures {
		captures[i] = m.groupObject(i + 1)
		if name := m.names[i+1]; name != "" {
			captures[i].(map[string]any)["name"] = name
		} else {
			captures[i].(map[string]any)["name"] = nil
		}
	}
	whole := m.groupObject(0)
	whole["captures"] = captures
	return whole
}

func (m *match) groupObject(i int) map[string]any {
	offset, length := -1, 0
	if at := m.groups[2*i]; at >= 0 {
		offset = m.start + utf8.RuneCountInString(m.text[m.groups[0]:at])
		length = utf8.RuneCountInString(m.text[at:m.groups[2*i+1]])
	}
	return map[string]any{"offset": offset, "length": length, "string": m.group(i)}
}

// namedCaptures is an output of jq's capture.
func namedCaptures(m *match) any {
	captures := map[string]any{}
	for i, name := range m.names {
		if name != "" {
			captures[name] = m.group(i)
		}
	}
	return captures
}

// matchStrings is an output of jq's scan.
func matchStrings(m *match) any {
	if len(m.names) == 1 {
		return m.group(0)
	}
	groups := make([]any, len(m.names)-1)
	for i := range groups {
		groups[i] = m.group(i + 1)
	}
	return groups
}

// joinPieces ends a substitution. pieces has for each match what stands before
// it with what takes its place, as often as the program gave something, and last
// the text behind all matches. The first outputs for each match make the first
// text, the second outputs the second, and so on.
func joinPieces(pieces any, args []any) gojq.Iter {
	list := pieces.([]any)
	rest := list[len(list)-1].([]any)[0].(string)
	var texts []*strings.Builder
	for _, alternatives := range list[:len(list)-1] {
		for i, piece := range alternatives.([]any) {
			if i == len(texts) {
				texts = append(texts, new(strings.Builder))
			}
			texts[i].WriteString(piece.(string))
		}
	}
	if len(texts) == 0 {
		return gojq.NewIter(args[0])
	}
	results := make([]any, len(texts))
	for i, text := range texts {
		results[i] = text.String() + rest
	}
	return gojq.NewIter(results...)
}

// A regexpCache has the regular expressions of a program, by pattern and flags.
type regexpCache map[[2]string]*compiledRegexp

// each is a function of jq that puts out form of each match, and atEnd, if there
// is one, of the text behind the last match.
func (c regexpCache) each(form func(*match) any, atEnd func(string) any) func(any, []any) gojq.Iter {
	return func(v any, args []any) gojq.Iter {
		re, text, flags, err := c.arguments("match", v, args[0], args[1])
		if err != nil {
			return gojq.NewIter[any](err)
		}
		limit := 1
		if strings.Contains(flags, "g") {
			limit = -1
		}
		found := re.find(text, limit)
		m := &match{text: text, names: re.SubexpNames()}
		from := 0 // the end of the match before
		ended := atEnd == nil
		return iter(func() (any, bool) {
			if len(found) == 0 {
				if ended {
					return nil, false
				}
				ended = true
				return atEnd(text[from:]), true
			}
			groups := found[0]
			found = found[1:]
			before := 0
			if m.groups != nil {
				before = m.groups[0]
			}
			m.start += utf8.RuneCountInString(text[before:groups[0]])
			m.groups, m.gap = groups, text[from:groups[0]]
			from = groups[1]
			return form(m), true
		})
	}
}

// matches is jq's test.
func (c regexpCache) matches(v any, args []any) any {
	re, text, _, err := c.arguments("test", v, args[0], args[1])
	if err != nil {
		return err
	}
	if found, ok := re.findNear(text, 1); ok {
		return len(found) > 0
	}
	return re.MatchString(text)
}

// replace is jq's sub with a plain string, its third argument.
func (c regexpCache) replace(v any, args []any) any {
	re, text, flags, err := c.arguments("match", v, args[0], args[1])
	if err != nil {
		return err
	}
	limit := 1
	if strings.Contains(flags, "g") {
		limit = -1
	}
	var out strings.Builder
	from := 0
	for _, m := range re.find(text, limit) {
		out.WriteString(text[from:m[0]])
		out.WriteString(args[2].(string))
		from = m[1]
	}
	out.WriteString(text[from:])
	return out.String()
}

// An iter is a function as a [gojq.Iter].
type iter func() (any, bool)

func (next iter) Next() (any, bool) { return next() }

// arguments checks what match or test was called with. Its errors are worded as gojq's.
func (c regexpCache) arguments(name string, v, re, fs any) (r *compiledRegexp, text, flags string, err error) {
	text, isText := v.(string)
	pattern, isPattern := re.(string)
	flags, isFlags := fs.(string)
	if !isText || !isPattern || !isFlags && fs != nil {
		kind := "null"
		if v != nil {
			kind = gojq.TypeOf(v) + " (" + gojq.Preview(v) + ")"
		}
		return nil, "", "", fmt.Errorf("%s(%s; %s) cannot be applied to: %s", name, gojq.Preview(re), gojq.Preview(fs), kind)
	}
	key := [2]string{pattern, flags}
	if r = c[key]; r == nil {
		if r, err = compileRegexp(pattern, flags); err != nil {
			return nil, "", "", err
		}
		c[key] = r
	}
	return r, text, flags, nil
}

// A compiledRegexp finds what jq finds, which is more than Go does: also an
// empty match where the match before ended.
type compiledRegexp struct {
	*regexp.Regexp
	// after is the same behind any one character, so that ^ and \b know what
	// stands before; nil if the expression is too long for it.
	after *regexp.Regexp
	// required is what every match holds; nil if nothing is known.
	required *search.Required
}

func compileRegexp(pattern, flags string) (*compiledRegexp, error) {
	if strings.Trim(flags, "gim") != "" {
		return nil, fmt.Errorf("unsupported regular expression flag: %q", flags)
	}
	if strings.Contains(flags, "i") {
		pattern = "(?i)" + pattern
	}
	if strings.Contains(flags, "m") {
		pattern = "(?s)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression %q: %s", pattern, err)
	}
	// Too long by what is added: then Go's matches must do.
	after, _ := regexp.Compile(`\A(?s:.)(?:` + pattern + `)`)
	return &compiledRegexp{re, after, search.RequiredOf(pattern)}, nil
}

// find returns the groups of the first match, or of all if limit is -1.
func (r *compiledRegexp) find(text string, limit int) [][]int {
	if found, ok := r.findNear(text, limit); ok {
		return found
	}
	found := r.FindAllStringSubmatchIndex(text, limit)
	if limit == 1 || r.after == nil || r.required != nil {
		return found
	}
	all := make([][]int, 0, len(found))
	for i, m := range found {
		all = append(all, m)
		if m[0] == m[1] || i+1 < len(found) && found[i+1][0] == m[1] {
			continue
		}
		if empty := r.emptyAt(text, m[1]); empty != nil {
			all = append(all, empty)
		}
	}
	return all
}

// emptyAt returns the groups of an empty match at an offset behind a match, or
// nil.
func (r *compiledRegexp) emptyAt(text string, offset int) []int {
	if m := r.matchAt(text, offset); m != nil && m[1] == offset {
		return m
	}
	return nil
}

// maxNearWork bounds what is done for windows that a match does not begin with, in
// characters that are looked at: 0.2 s.
const maxNearWork = 1 << 24

// findNear is find for a pattern whose matches hold one of a few strings: it looks for
// those, and matches around them. Of .{0,100}error.{0,100} each character of a text costs
// a hundred steps otherwise. It reports false where that is of no use.
func (r *compiledRegexp) findNear(text string, limit int) (found [][]int, ok bool) {
	if r.required == nil || r.after == nil {
		return nil, false
	}
	if len(text) < 2000 {
		return nil, r.required.Absent(text)
	}
	next := r.required.In(text)
	if next == nil {
		return nil, false
	}
	if next(0) == len(text) {
		return nil, true
	}
	if r.required.Before <= 0 || r.required.Longest < 0 {
		return nil, false
	}
	work := 0
	for pos := 0; len(found) != limit; {
		at := next(pos)
		if at == len(text) {
			return found, true
		}
		start, end := r.window(text, pos, at)
		m := r.matchAt(text[:end], start)
		if m == nil {
			if work += (at - start) * (end - start); work > maxNearWork {
				return nil, false
			}
			for i := start + 1; i <= at && m == nil; i++ {
				if utf8.RuneStart(text[i]) {
					m = r.matchAt(text[:end], i)
				}
			}
		}
		if m == nil {
			pos = at + 1
			continue
		}
		found = append(found, m)
		pos = m[1]
	}
	return found, true
}

// window is where a match can begin that holds the string at at, and a place behind its
// end that a match of it cannot reach.
func (r *compiledRegexp) window(text string, pos, at int) (start, end int) {
	start, end = at, at
	for range r.required.Before {
		if start <= pos {
			break
		}
		_, width := utf8.DecodeLastRuneInString(text[pos:start])
		start -= width
	}
	for range r.required.Longest + 1 {
		_, width := utf8.DecodeRuneInString(text[end:])
		end += width
	}
	if r.required.InLine {
		start = max(start, strings.LastIndexByte(text[:at], '\n')+1)
	}
	return start, end
}

// matchAt returns the groups of the match that begins at an offset, or nil.
func (r *compiledRegexp) matchAt(text string, offset int) []int {
	if offset == 0 {
		if m := r.FindStringSubmatchIndex(text); m != nil && m[0] == 0 {
			return m
		}
		return nil
	}
	_, width := utf8.DecodeLastRuneInString(text[:offset])
	groups := r.after.FindStringSubmatchIndex(text[offset-width:])
	if groups == nil {
		return nil
	}
	for i := range groups {
		if groups[i] >= 0 {
			groups[i] += offset - width
		}
	}
	groups[0] = offset
	return groups
}
