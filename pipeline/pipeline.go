package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Stage is one step of a [Pipeline].
//
// Apply must not modify in.Data, which is cached and shared. A Value without
// items is an answer, not an error. What the calling agent can repair is
// returned as an [*Error]; a cancelled or expired ctx ends Apply soon.
type Stage interface {
	Apply(ctx context.Context, in Value) (Value, error)
	// String names the stage and its settings on one line, for logs.
	String() string
}

// A Pipeline applies its stages in order. The empty one returns its input.
type Pipeline []Stage

// Check is an [*Error] for settings that no document makes right: whoever waits for
// one, or pays for it, hears of them first.
func (p Pipeline) Check() error {
	for _, s := range p {
		if s, ok := s.(interface{ Check() error }); ok {
			if err := s.Check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run applies p to in. A deadline that passes comes back as an [*Error] with
// code limit_time; a plain cancellation as ctx.Err, since nobody waits.
func (p Pipeline) Run(ctx context.Context, in Value) (Value, error) {
	for _, s := range p {
		if err := ctx.Err(); err != nil {
			return Value{}, ended(err)
		}
		out, err := s.Apply(ctx, in)
		if err != nil {
			var repairable *Error
			if errors.As(err, &repairable) {
				return Value{}, err
			}
			return Value{}, ended(err)
		}
		in = out
	}
	return in, nil
}

// The codes of an [Error], a part of those in the design.
const (
	BadArguments = "bad_arguments"
	BadJQ        = "bad_jq"
	BadPattern   = "bad_pattern"
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

// ended turns an expired deadline into an Error and leaves other errors be.
func ended(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Error{Code: LimitTime, Text: "the time limit passed before the call was done",
		Hint: "narrow first, with fields, jq or offset and limit", Err: err}
}

func badArguments(hint, format string, args ...any) *Error {
	return &Error{Code: BadArguments, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// A ticker checks a context once in many calls of a hot loop.
type ticker struct {
	ctx context.Context
	n   uint
}

func (t *ticker) err() error { return t.errFor(0) }

// errFor is err for a call that reads so many bytes: what is deep is read anew
// on each level, so that few calls can take long.
func (t *ticker) errFor(bytes int) error {
	const each = 256 // bytes that count as a call
	before := t.n / 1024
	if t.n += 1 + uint(bytes)/each; t.n/1024 == before {
		return nil
	}
	if d, ok := t.ctx.Deadline(); ok && time.Now().After(d) {
		return context.DeadlineExceeded
	}
	return t.ctx.Err()
}
