// Package pipeline turns one document into what an agent reads.
//
//	bytes → Recognise → Value → Stage → Stage → … → Value → Preview
//
// A [Stage] narrows (fields, jq, slice), finds (search), describes (outline)
// or renders (format). Between stages travels a [Value]: raw bytes and what
// they are. Whatever a stage copies it copies byte for byte: numbers keep
// their spelling and objects their key order, except behind jq, which sorts.
//
// Each kind of stage is a package below this one. Here they run one after the
// other, and stages.go names them all for callers.
//
// Sizes are bytes, budgets are tokens as package tokens counts them, and
// offsets of items and lines in arguments start at 0. Replies are
// deterministic. Nothing here or below knows MCP, agents or the cache.
package pipeline

import (
	"context"
	"errors"

	"rlmproxy/pipeline/doc"
)

// A Stage is one step of a [Pipeline].
//
// Apply must not modify in.Data, which is cached and shared. A Value without
// items is an answer, not an error. What the calling agent can repair is
// returned as an [*Error]; a cancelled or expired ctx ends Apply soon.
type Stage interface {
	Apply(ctx context.Context, in doc.Value) (doc.Value, error)
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
func (p Pipeline) Run(ctx context.Context, in doc.Value) (doc.Value, error) {
	for _, s := range p {
		if err := ctx.Err(); err != nil {
			return doc.Value{}, doc.AsLimit(err)
		}
		out, err := s.Apply(ctx, in)
		if err != nil {
			var repairable *doc.Error
			if errors.As(err, &repairable) {
				return doc.Value{}, err
			}
			return doc.Value{}, doc.AsLimit(err)
		}
		in = out
	}
	return in, nil
}
