package jq

import (
	"regexp"
	"strings"

	"rlmproxy/pipeline/show"
)

// runtimeError explains why p failed on this document.
func (p *program) runtimeError(err error, tree any, s *stop) *Error {
	msg := show.ClipBytes(strings.ToValidUTF8(err.Error(), "�"), 300)
	e := &Error{Code: Bad, Text: "jq: " + msg, Err: err}
	_, list := tree.([]any)
	_, text := tree.(string)
	switch {
	case text && strings.Contains(msg, "but got: string"), text && strings.Contains(msg, "cannot iterate over: string"):
		e.Hint = `the document is text, one string: split("\n") | map(select(test("error")))`
	case strings.Contains(msg, "expected an object but got: array"):
		if fixed := p.iterating(tree, s); fixed != "" {
			e.Hint = "an array needs [] before a field: " + fixed
		} else if list {
			e.Hint = "an array needs [] before a field; the document is one: .[] | …"
		} else {
			e.Hint = "an array needs [] before a field, as in .items[].id"
		}
	case strings.Contains(msg, "cannot iterate over: null"):
		e.Hint = "that field is missing here; []? and .field[]? skip what is not there"
	case strings.Contains(msg, "cannot iterate over"):
		e.Hint = "[] needs an array or object; []? skips others"
	case strings.Contains(msg, `but got: string ("{`), strings.Contains(msg, `but got: string ("[`):
		e.Hint = "that string holds JSON: .field | fromjson | .id"
	case strings.Contains(msg, "expected an object"), strings.Contains(msg, "expected an array"):
		e.Hint = ".field? skips values of another type; proxy_explore shows the types"
	case strings.Contains(msg, "cannot be matched"), strings.Contains(msg, "cannot be applied to"):
		e.Hint = `a field may be null or a number: (.field // "" | tostring) is a string`
	default:
		e.Hint = "proxy_explore shows fields and types"
	}
	return e
}

const (
	// maxTries programs are tried for a hint, of tryBytes at most each and for
	// so many steps that they cost less than what has failed.
	maxTries = 12
	tryBytes = 500
	trySteps = 20_000
)

// pathEnd is where a path goes on, so that [] may be missing there.
var pathEnd = regexp.MustCompile(`([\w\])"])\.["A-Za-z_]`)

// iterating is p with the [] that it lacks, or "": the first of its kind that
// puts something out over this document.
func (p *program) iterating(tree any, s *stop) string {
	source := strings.TrimSpace(p.source)
	if len(source) > tryBytes || p.writes || p.builds {
		return ""
	}
	var tries []string
	if _, list := tree.([]any); list {
		if strings.HasPrefix(source, ".") && len(source) > 1 && source[1] != '[' {
			tries = append(tries, ".[]"+source)
		}
		tries = append(tries, ".[] | "+source)
	}
	for _, at := range pathEnd.FindAllStringSubmatchIndex(source, maxTries) {
		tries = append(tries, source[:at[3]]+"[]"+source[at[3]:])
	}
	for _, try := range tries[:min(len(tries), maxTries)] {
		if s.now.Load() {
			return ""
		}
		if putsOut(try, tree, s) {
			return try
		}
	}
	return ""
}

// putsOut reports whether a program's first output is a value and not null.
func putsOut(source string, tree any, outer *stop) bool {
	if !Compiles(source) {
		return false
	}
	p, err := compile(source)
	if err != nil {
		return false
	}
	s := &stop{Context: outer.Context, now: outer.now, left: trySteps}
	v, ok := p.code.RunWithContext(s, tree).Next()
	_, failed := v.(error)
	return ok && !failed && v != nil
}
