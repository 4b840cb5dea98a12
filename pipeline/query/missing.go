package query

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/schema"
)

// A jq program that names a field which is not there does not fail: it puts out
// null, nothing, or that none were found, which reads like an answer. So a program
// whose answer is as empty as that is looked through for such a field.

var (
	// jqChain is .a.b[0].c, with what stands before it.
	jqChain  = regexp.MustCompile(`(^|[^\w$\])"}?.])((?:\.[A-Za-z_]\w*\??|(?:\.?\[\d*\]\??))+)`)
	jqString = regexp.MustCompile(`"(?:\\.|[^"\\])*"`)
	// jqAside are comments.
	jqAside = regexp.MustCompile(`#[^\n]*`)
	// jqMakes is what gives the rest of a program fields of its own, or has it read
	// elsewhere.
	jqMakes = regexp.MustCompile(`[}$@]|\b(?:def|reduce|foreach|capture|fromjson|group_by|input|env|getpath|setpath|splits?|scan|match|g?sub|catch|INDEX|[a-z]*_entries)\b`)
	// jqSets is an assignment, of what need not be there.
	jqSets = regexp.MustCompile(`(?:^|[^=!<>])=(?:[^=]|$)`)
	// jqElse is what stands behind a path that may be missing, as the program says.
	jqElse    = regexp.MustCompile(`^[\s)]*(?://|==\s*null\b)`)
	jqNothing = regexp.MustCompile(`^[\s)]*//\s*(?:empty|null)\b`)
)

const (
	// maxMissingSource bounds the programs that are looked through, in bytes.
	maxMissingSource = 1000
	// maxMissingTime bounds the look, whose answer is there without it. A document
	// of 50 MB takes 0.3 s.
	maxMissingTime = time.Second
)

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

// pathsIn is program without its strings and comments, in which letters are where
// they were; "" if it cannot be read so.
func pathsIn(program string) string {
	nested := false
	source := jqString.ReplaceAllStringFunc(program, func(s string) string {
		// A string in an interpolation: which is in and which is out is not told here.
		nested = nested || strings.Contains(s, `\(`) && strings.Count(s, "(") != strings.Count(s, ")")
		return `"` + strings.Repeat("_", len(s)-2) + `"`
	})
	if nested {
		return ""
	}
	return jqAside.ReplaceAllStringFunc(source, func(s string) string { return strings.Repeat(" ", len(s)) })
}

// missingIn is the error for the first field that program names and in has
// nowhere, or its first path has not at the top; nil if there is none for certain.
func missingIn(ctx context.Context, in doc.Value, program string) (*doc.Error, error) {
	if len(program) > maxMissingSource || in.Kind == doc.Text {
		return nil, nil
	}
	source := pathsIn(program)
	if jqSets.MatchString(source) {
		return nil, nil
	}
	var before doc.Path // what the program has gone through
	for i, at := range jqChain.FindAllStringSubmatchIndex(source, 20) {
		if jqMakes.MatchString(source[:at[4]]) {
			return nil, nil // it may be a field of the program's
		}
		rest := source[at[5]:]
		if rest != "" && strings.ContainsRune(`"[(`, rune(rest[0])) {
			continue // the path goes on in a way that is not read here
		}
		path, err := doc.ParsePath(strings.ReplaceAll(strings.TrimPrefix(source[at[4]:at[5]], "."), "?", ""))
		if err != nil || doc.Bare(path) == "" {
			continue
		}
		key, gone := absent(ctx, in, path, i == 0 && strings.Trim(source[:at[4]], "([ ") == "")
		if !gone || jqElse.MatchString(rest) && !jqNothing.MatchString(rest) {
			before = append(before, path...)
			continue
		}
		if allEmpty(ctx, in.Data, append(before, path[:key]...)) {
			return nil, nil // nobody knows what would be in there
		}
		known, err := schema.KnownPaths(ctx, in)
		if err != nil || len(known) == 0 {
			return nil, err
		}
		for len(path) > 1 && path[len(path)-1].Kind != doc.StepKey {
			path = path[:len(path)-1]
		}
		return doc.NoSuchPath(path, known), nil
	}
	return nil, nil
}

// absent reports whether in has a key of path nowhere or, for a path from the top
// of an object, the first not there; and which.
func absent(ctx context.Context, in doc.Value, path doc.Path, top bool) (at int, gone bool) {
	for i, s := range path {
		if ctx.Err() != nil {
			return 0, false
		}
		if s.Kind == doc.StepKey && !bytes.Contains(in.Data, []byte(`"`+s.Key+`"`)) {
			return i, !bytes.Contains(in.Data, []byte(`\u`)) // of which a key may be written
		}
	}
	if !top || path[0].Kind != doc.StepKey || in.Kind != doc.JSON || jsonscan.Kind(in.Data) != '{' {
		return 0, false
	}
	for key := range jsonscan.Fields(in.Data) {
		if jsonscan.Text(key) == path[0].Key {
			return 0, false
		}
	}
	return 0, true
}

// allEmpty reports whether a key of path is null, [] or {} everywhere in data.
func allEmpty(ctx context.Context, data []byte, path doc.Path) bool {
	for _, s := range path {
		if s.Kind == doc.StepKey && ctx.Err() == nil && holdsNothing(data, []byte(`"`+s.Key+`"`)) {
			return true
		}
	}
	return false
}

func holdsNothing(data, key []byte) bool {
	found := false
	for {
		i := bytes.Index(data, key)
		if i < 0 {
			return found
		}
		data = bytes.TrimLeft(data[i+len(key):], " \t\r\n")
		if len(data) == 0 || data[0] != ':' {
			continue // a string
		}
		found = true
		value := bytes.TrimLeft(data[1:], " \t\r\n")
		if bytes.HasPrefix(value, []byte("null")) {
			continue
		}
		if len(value) == 0 || value[0] != '[' && value[0] != '{' {
			return false
		}
		value = bytes.TrimLeft(value[1:], " \t\r\n")
		if len(value) == 0 || value[0] != ']' && value[0] != '}' {
			return false
		}
	}
}

// explained adds to what a program gave, or why it failed, the field that it
// misses. A look that takes too long finds none.
func (q *JQ) explained(ctx context.Context, in doc.Value, v *doc.Value, failed error) error {
	var e *doc.Error
	if failed != nil && (!errors.As(failed, &e) || e.Code != doc.BadJQ || !strings.Contains(e.Text, "null") || jq.CheckSyntax(q.Program) != nil) {
		return failed
	}
	ctx, cancel := context.WithTimeout(ctx, maxMissingTime)
	defer cancel()
	none, err := missingIn(ctx, q.read(ctx, in), q.Program)
	switch {
	case none == nil || err != nil:
	case failed == nil:
		v.AddNote(none.Text + "; " + none.Hint)
	default:
		e.Hint = none.Text + "; " + none.Hint
	}
	return failed
}
