package query

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/locate"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/schema"
)

// A jq program that names a field which is not there does not fail: it puts out
// null, nothing, or that none were found, which reads like an answer. So a program
// whose answer is as empty as that is looked through for such a field.

const (
	// maxMissingSource bounds the programs that are looked through, in bytes.
	maxMissingSource = 1000
	// maxMissingTime bounds the look, whose answer is there without it. A document
	// of 50 MB takes 0.3 s.
	maxMissingTime = time.Second
	// missingDepth is how many levels of fields are known of.
	missingDepth = 8
)

// isEmpty reports whether an output of a program says nothing: it is null as often
// as it comes, or none of something.
func isEmpty(out jq.Output) bool {
	if out.N == 1 {
		switch string(bytes.TrimSpace(out.Data)) {
		case "null", "0", "[]", "{}", "false", `""`, "[null]":
			return true
		}
	}
	const null = "null\n"
	return len(out.Data) == out.N*len(null) && bytes.Count(out.Data, []byte(null)) == out.N
}

// missing is the error for the first field that the program names and the document
// lacks; nil if there is none for certain, or the look takes too long.
func (q *JQ) missing(ctx context.Context, in doc.Value) *doc.Error {
	ctx, cancel := context.WithTimeout(ctx, maxMissingTime)
	defer cancel()
	if rows, ok, err := records.Of(ctx, in); ok && err == nil {
		in = rows.Value
	}
	if in.Kind == doc.Text || len(q.Program) > maxMissingSource {
		return nil
	}
	program, err := gojq.Parse(q.Program)
	if err != nil {
		return nil
	}
	root, err := schema.Survey(ctx, in, missingDepth)
	if err != nil {
		return nil
	}
	f := fieldFinder{data: in.Data}
	f.query(program, place{node: root})
	if f.missing == nil {
		return nil
	}
	var e *doc.Error
	errors.As(locate.NoField(ctx, in, f.missing), &e)
	return e
}

// explain adds to an empty answer, or to why the program failed on a null, the
// field that it misses.
func (q *JQ) explain(ctx context.Context, in doc.Value, out *doc.Value, failed error) error {
	var e *doc.Error
	if failed != nil && (!errors.As(failed, &e) || e.Code != doc.BadJQ || !strings.Contains(e.Text, "null")) {
		return failed
	}
	switch none := q.missing(ctx, in); {
	case none == nil:
	case failed == nil:
		out.AddNote(none.Text + "; " + none.Hint)
	default:
		e.Hint = none.Text + "; " + none.Hint
	}
	return failed
}
