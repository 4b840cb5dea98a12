package pipeline

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"

	"rlmproxy/pipeline/jq"
)

// A jq program that names a field which is not there does not fail: it puts out
// null, nothing, or that none were found, which reads like an answer. So a program
// whose answer is as empty as that is looked through for such a field.

var (
	// jqChain is .a.b[0].c, with what stands before it.
	jqChain  = regexp.MustCompile(`(^|[^\w$\])"}?.])((?:\.[A-Za-z_]\w*\??|(?:\.?\[\d*\]\??))+)`)
	jqString = regexp.MustCompile(`"(?:\\.|[^"\\])*"`)
	// jqMakes is what gives a program fields of its own, or reads them elsewhere.
	jqMakes = regexp.MustCompile(`[{$@]|\.\.|\b(?:def|reduce|foreach|capture|fromjson|group_by|input|env|getpath|setpath|splits?|scan|match|[a-z]*_entries)\b`)
)

// maxMissingSource bounds the programs that are looked through, in bytes.
const maxMissingSource = 1000

// says reports whether an output of a program says anything: one that does not is
// null as often as it comes, or none of something.
func says(out jq.Output) bool {
	if out.N == 1 {
		switch string(bytes.TrimSpace(out.Data)) {
		case "null", "0", "[]", "{}", "false", `""`, "[null]":
			return false
		}
	}
	const null = "null\n"
	return len(out.Data) != out.N*len(null) || bytes.Count(out.Data, []byte(null)) != out.N
}

// missingIn is the error for the first field that program names and doc has
// nowhere, or its first path has not at the top; nil if there is none for certain.
func missingIn(ctx context.Context, doc Value, program string) (*Error, error) {
	if len(program) > maxMissingSource || doc.Kind == Text {
		return nil, nil
	}
	made := jqMakes.MatchString(jqString.ReplaceAllString(program, `""`))
	source := jqString.ReplaceAllStringFunc(program, func(s string) string { return `"` + strings.Repeat("_", len(s)-2) + `"` })
	for i, at := range jqChain.FindAllStringSubmatchIndex(source, 20) {
		if i > 0 && made {
			return nil, nil // it may be a field of the program's
		}
		if end := at[5]; end < len(source) && strings.ContainsRune(`"[(`, rune(source[end])) {
			continue // the path goes on in a way that is not read here
		}
		path, err := ParsePath(strings.ReplaceAll(strings.TrimPrefix(source[at[4]:at[5]], "."), "?", ""))
		if err != nil || bare(path) == "" {
			continue
		}
		if !absent(ctx, doc, path, i == 0 && strings.Trim(source[:at[4]], "([ ") == "") {
			continue
		}
		known, err := knownPaths(ctx, doc)
		if err != nil || len(known) == 0 {
			return nil, err
		}
		for len(path) > 1 && path[len(path)-1].Kind != StepKey {
			path = path[:len(path)-1]
		}
		return noSuchPath(path, known), nil
	}
	return nil, nil
}

// absent reports whether doc has a key of path nowhere or, for a path from the top
// of an object, the first not there.
func absent(ctx context.Context, doc Value, path Path, top bool) bool {
	for _, s := range path {
		if ctx.Err() != nil {
			return false
		}
		if s.Kind == StepKey && !bytes.Contains(doc.Data, []byte(`"`+s.Key+`"`)) {
			return !bytes.Contains(doc.Data, []byte(`\u`)) // of which a key may be written
		}
	}
	if !top || path[0].Kind != StepKey || doc.Kind != JSON || kindOf(doc.Data) != '{' {
		return false
	}
	for key := range members(doc.Data) {
		if unquote(key) == path[0].Key {
			return false
		}
	}
	return true
}

// explained adds to what a program gave, or why it failed, the field that it
// misses.
func (q *JQ) explained(ctx context.Context, doc Value, v *Value, failed error) error {
	var e *Error
	if failed != nil && (!errors.As(failed, &e) || e.Code != BadJQ || !strings.Contains(e.Text, "null")) {
		return failed
	}
	none, err := missingIn(ctx, doc, q.Program)
	switch {
	case none == nil:
		if failed == nil {
			failed = err
		}
		return failed
	case failed == nil:
		v.addNote(none.Text + "; " + none.Hint)
		return nil
	}
	e.Hint = none.Text + "; " + none.Hint
	return e
}
