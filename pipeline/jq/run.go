package jq

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/itchyny/gojq"

	"rlmproxy/pipeline/show"
)

// A stop is the context that a program runs under. gojq asks it for Done before
// each instruction, so it is cheap, and a counter of instructions too.
type stop struct {
	context.Context              // for what is not below
	now             *atomic.Bool // set by whoever wants the program to end

	left int // instructions; negative: no limit. It belongs to the program's goroutine.
	err  error
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (s *stop) Done() <-chan struct{} {
	if s.left > 0 {
		s.left--
	}
	switch {
	case s.left == 0:
		if s.err == nil {
			s.err = &Error{Code: LimitTime, Text: fmt.Sprintf("jq: stopped after %s steps, the limit for reduce, foreach, recursion and paths built by programs", show.Count(maxBuildSteps)),
				Hint: "use map, select, group_by, add or length, which have no such limit"}
		}
	case s.now.Load():
		if s.err == nil {
			s.err = context.Canceled
		}
	default:
		return nil
	}
	return closed
}

func (s *stop) Err() error { return s.err }

func newStop() *stop { return &stop{Context: context.Background(), now: new(atomic.Bool), left: -1} }

// An input is what a program runs over.
type input struct {
	tree any
	// maps is the tree as gojq takes it, which p may overwrite if it writes.
	maps func() (any, error)
}

// run runs p over in: as Go functions if it has them and they know all about
// this document, else in gojq.
func (p *program) run(s *stop, in input) (Output, error) {
	if p.fast != nil && s.left < 0 {
		out, err := p.fast.run(s, in.tree)
		if err != errStuck && err != errGiveUp {
			return out, err
		}
	}
	p.fast = nil // and what it holds
	maps, err := in.maps()
	if err != nil {
		return Output{}, err
	}
	return p.interpret(s, maps)
}

// interpret runs p in gojq.
func (p *program) interpret(s *stop, maps any) (Output, error) {
	var out Output
	outs := p.code.RunWithContext(s, maps)
	for {
		v, ok := outs.Next()
		if !ok {
			return out, nil
		}
		if err, isErr := v.(error); isErr {
			if s.err != nil {
				return Output{}, s.err
			}
			if halt := (*gojq.HaltError)(nil); errors.As(err, &halt) && halt.Value() == nil {
				return out, nil
			}
			return Output{}, p.runtimeError(err, maps, s)
		}
		if err := out.add(v); err != nil {
			return Output{}, err
		}
	}
}

const brokeText = "jq: the program broke the interpreter"

// safely is run for a program that may break the interpreter.
func (p *program) safely(s *stop, in input) (out Output, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Error{Code: Bad, Text: brokeText, Hint: "write it differently",
				Err: fmt.Errorf("panic: %v\n%s", r, debug.Stack())}
		}
	}()
	return p.run(s, in)
}

// maxStray programs may be stuck beyond their deadline at once.
const maxStray = 4

// stray counts programs of [Eval] whose caller has left.
var stray atomic.Int32

// Eval runs a program in this process: for tests and tools, not for programs
// of strangers. Instructions of a program that can nest without limit are
// bounded, for a stack that overflows would end the process; memory is not. A
// program that does not heed the end of ctx (test and gsub on long strings) is
// left behind, and while four are, programs are refused.
//
// Its error is an [*Error], or that of ctx.
func Eval(ctx context.Context, tree *Tree, source string) (Output, error) {
	if stray.Load() >= maxStray {
		return Output{}, &Error{Code: LimitTime, Text: "jq is busy with programs that do not end", Hint: "use fields, or try again later"}
	}
	type result struct {
		out Output
		err error
	}
	var (
		done = make(chan result, 1)
		left atomic.Bool // whoever swaps it first decides who counts down
		s    = newStop()
	)
	go func() {
		var r result
		var p *program
		if p, r.err = compile(source); r.err == nil {
			if p.builds {
				s.left = maxBuildSteps
			}
			r.out, r.err = p.safely(s, input{tree.value, func() (any, error) { return tree.maps(s) }})
		}
		if left.Swap(true) {
			stray.Add(-1)
		}
		done <- r
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done():
	}
	s.now.Store(true)
	// Counted first, so that the goroutine cannot count down below zero.
	stray.Add(1)
	if left.Swap(true) {
		stray.Add(-1)
		if r := <-done; !errors.Is(r.err, context.Canceled) {
			return r.out, r.err
		}
	}
	return Output{}, ended(ctx.Err())
}
