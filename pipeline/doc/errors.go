package doc

import (
	"context"
	"errors"
	"fmt"
)

// The codes of an [Error], a part of those in the design.
const (
	BadArguments = "bad_arguments"
	BadJQ        = "bad_jq"
	BadPattern   = "bad_pattern"
	BadProgram   = "bad_program"
	LimitTime    = "limit_time"
	LimitMemory  = "limit_memory"
)

// An Error is a failure that the calling agent can repair.
type Error struct {
	Code string // stable: agents may branch on it
	Text string // what was wrong, and where; may have several lines
	Hint string // what to send instead, or empty
	Err  error  // the cause, or nil
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Text
	}
	return e.Text + "\nhint: " + e.Hint
}

func (e *Error) Unwrap() error { return e.Err }

// AsLimit turns an expired deadline into an Error and leaves other errors be.
func AsLimit(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Error{Code: LimitTime, Text: "the time limit passed before the call was done",
		Hint: "narrow first, with fields, jq or offset and limit", Err: err}
}

func Invalid(hint, format string, args ...any) *Error {
	return &Error{Code: BadArguments, Text: fmt.Sprintf(format, args...), Hint: hint}
}
