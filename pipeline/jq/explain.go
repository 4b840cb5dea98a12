package jq

import (
	"context"
	"regexp"
	"strings"

	"rlmproxy/pipeline/show"
)

// runtimeError explains why p failed on this document.
func (p *program) runtimeError(err error, document any) *Error {
	msg := show.ClipBytes(strings.ToValidUTF8(err.Error(), "�"), 300)
	e := &Error{Code: Bad, Text: "jq: " + msg, Err: err}
	_, list := document.([]any)
	_, text := document.(string)
	switch {
	case text && strings.Contains(msg, "but got: string"), text && strings.Contains(msg, "cannot iterate over: string"):
		e.Hint = `the document is text, one string: split("\n") | map(select(test("error")))`
	case strings.Contains(msg, "expected an object but got: array"):
		if fixed := p.iterating(document); fixed != "" {
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
func (p *program) iterating(document any) string {
	source := strings.TrimSpace(p.source)
	if len(source) > tryBytes || p.writes {
		return ""
	}
	var tries []string
	if _, list := document.([]any); list {
		if strings.HasPrefix(source, ".") && len(source) > 1 && source[1] != '[' {
			tries = append(tries, ".[]"+source)
		}
		tries = append(tries, ".[] | "+source)
	}
	for _, at := range pathEnd.FindAllStringSubmatchIndex(source, maxTries) {
		tries = append(tries, source[:at[3]]+"[]"+source[at[3]:])
	}
	for _, try := range tries[:min(len(tries), maxTries)] {
		if putsOut(try, document) {
			return try
		}
	}
	return ""
}

// putsOut reports whether a program's first output is a value and not null, and
// comes within trySteps.
func putsOut(source string, document any) bool {
	query, err := parseProgram(source)
	if err != nil {
		return false
	}
	code, err := compileQuery(query)
	if err != nil {
		return false
	}
	v, ok := code.RunWithContext(&steps{context.Background(), trySteps}, document).Next()
	_, failed := v.(error)
	return ok && !failed && v != nil
}

// steps is a context that ends after so many instructions: gojq asks it for Done
// before each.
type steps struct {
	context.Context
	left int
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (s *steps) Done() <-chan struct{} {
	if s.left--; s.left < 0 {
		return closed
	}
	return nil
}

func (s *steps) Err() error {
	if s.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}
