package script

import (
	"encoding/json"
	"time"
)

// What goes between a [Pool] and its workers, as JSON.

// A task is one run of a program.
type task struct {
	Name      string          `json:"name"`
	Source    string          `json:"source"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	State     json.RawMessage `json:"state,omitempty"`
	Limit     time.Duration   `json:"limit,omitempty"` // of computing; zero: none
	Check     bool            `json:"check,omitempty"` // it is compiled, and not run
}

// A question is a call of a function of the host.
type question struct {
	Function  string            `json:"function"`
	Arguments []json.RawMessage `json:"arguments"`
}

// A reply is what the host answers: a value, or an error.
type reply struct {
	Value json.RawMessage `json:"value,omitempty"` // nil: undefined
	Error string          `json:"error,omitempty"`
	Code  string          `json:"code,omitempty"` // of the error, if it has one
}

// An ending is what a program returned.
type ending struct {
	Value json.RawMessage `json:"value,omitempty"`
	State json.RawMessage `json:"state,omitempty"`
}

const (
	maxSourceBytes   = 64 << 10
	maxArgumentBytes = 4 << 20 // of the arguments of a program, and of one call
	maxValueBytes    = 32 << 20
	maxStateBytes    = 256 << 10
	maxPrintedBytes  = 64 << 10

	// maxCalls bounds the calls of tools that a program makes, maxAsked all that it asks the
	// host for.
	maxCalls = 1000
	maxAsked = 10_000
)
