// Package script runs programs in JavaScript that strangers wrote, over what a host has.
//
//	Program ─► Runner ─► Outcome
//	             └► Host: whatever the program asks for outside itself
//
// A program is the body of a function: what it returns is its value. It has neither files nor
// network nor clock; all that it reaches goes through its [Host].
package script

import (
	"context"
	"encoding/json"

	"rlmproxy/pipeline/doc"
)

// A Program is one run of a program.
type Program struct {
	// Agent is whose it is: agents take turns.
	Agent string
	// Name is what errors call it.
	Name   string
	Source string
	// Arguments is what the program has as args, an object. Nil means {}.
	Arguments json.RawMessage
	// State is what it has as state, an object. Nil means {}.
	State json.RawMessage
	// Packages are those of npm that it imports, as in "lodash@4.17.21", where a runner has any.
	Packages []string
}

// An Outcome is what became of a program.
type Outcome struct {
	Value   json.RawMessage // what it returned; nil: undefined
	Printed []byte          // by print, lines; also beside an error
	State   json.RawMessage // nil: as it was
}

// A Host does what a program asks for. It may be called concurrently.
type Host interface {
	// Call answers a call of a function of the host, with JSON. The program gets an error as
	// an exception that it may catch, unless ctx has ended.
	Call(ctx context.Context, function string, args []json.RawMessage) (json.RawMessage, error)
}

// A Runner runs programs. Its errors are an [Error], those of a cancelled ctx, and ours.
type Runner interface {
	Run(ctx context.Context, p Program, h Host) (Outcome, error)
}

// An Error is a failure that whoever wrote the program can repair.
type Error = doc.Error
