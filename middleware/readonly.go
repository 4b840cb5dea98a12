package middleware

import (
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/shape"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
)

// readOnly reports whether a call of the tool is known to change nothing: it says so. All
// that depends on it asks here.
func (t target) readOnly() bool { return readsOnly(t.tool) }

func readsOnly(t upstream.Tool) bool {
	return gjson.GetBytes(t.Raw, "annotations.readOnlyHint").Type == gjson.True
}

// A calledError is an error behind a call of a server's tool.
type calledError struct {
	error
	tool     string
	readOnly bool
}

func (e *calledError) Unwrap() error { return e.error }

// called notes with an error which tool was called; nil stays nil.
func (t target) called(err error) error {
	if err == nil {
		return nil
	}
	return &calledError{err, t.exposed, t.readOnly()}
}

// mayHaveActed is the tool that an error's call may have changed something with, or "".
func mayHaveActed(err error) string {
	var called *calledError
	var down *upstream.UnavailableError
	if !errors.As(err, &called) || called.readOnly || errors.As(err, &down) && !down.Lost {
		return ""
	}
	return called.tool
}

// warned is e with a warning for an agent that would repeat its call, of a tool that may have
// acted.
func warned(e *pipeline.Error, tool string) *pipeline.Error {
	out := *e
	if check := "check what the call did before you repeat it"; !strings.HasSuffix(out.Hint, check) {
		out.Hint = strings.TrimPrefix(out.Hint+"; "+check, "; ")
	}
	out.Hint += ": " + shape.ActsAgain(tool)
	return &out
}
