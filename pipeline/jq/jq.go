// Package jq runs jq programs of strangers over documents of strangers.
//
//	Query → Pool → a free worker process → Output
//	                  key → parsed tree, kept for the next program
//
// gojq runs the programs, but for the functions of regular expressions, which are
// ours and take one pass over a text. A program may take any time, memory and stack;
// so it runs in a worker, see package worker. What it does costs its own query and,
// at worst, the trees of its worker, which are parsed again from the raw bytes.
// [Eval] is the same without a process.
//
// Integers of any size and numbers that a program does not compute with keep
// their spelling. The keys of objects come out sorted, as gojq has no order of
// its own. Sizes are bytes.
package jq

import (
	"context"
	"errors"

	"rlmproxy/pipeline/doc"
)

// A Kind says how a document is read.
type Kind byte

const (
	Text  Kind = iota // one string, as with jq -Rs
	JSON              // one value
	Lines             // JSON Lines: an array of them
)

const (
	maxProgramBytes = 10_000
	maxProgramDepth = 200
	maxOutputs      = 100_000
	maxOutputBytes  = 32 << 20

	// maxDepth bounds the nesting of outputs, for those who read them.
	maxDepth = 1000
)

// An Output is what a program put out: N values, a line each.
type Output struct {
	Data []byte
	N    int
}

// An Error is a failure that whoever wrote the program can repair. Its code is Bad if
// the program does not parse or fails on this data, LimitTime if it was stopped for
// the time it took, LimitMemory for the memory or the size of its output.
type Error = doc.Error

const (
	Bad         = doc.BadJQ
	LimitTime   = doc.LimitTime
	LimitMemory = doc.LimitMemory
)

// ended turns an expired deadline into an Error and leaves other errors be.
func ended(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Error{Code: doc.LimitTime, Text: "jq: the time limit passed before the program was done",
		Hint: "narrow first: select fewer records or fields, then compute", Err: err}
}
