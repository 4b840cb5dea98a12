package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/itchyny/gojq"

	"rlmproxy/pipeline/show"
)

var _ Stage = (*JQ)(nil)

// JQ runs a jq program. It is a [Stage].
//
// JSON Lines count as one array of their lines, CSV and TSV as one of their
// records, and other text is one string, as with jq -Rs. One output is that JSON,
// several are JSON Lines, none is an empty Value; strings stay quoted.
// Integers of any size and numbers that the program does not compute with
// keep their spelling. The keys of objects come out sorted, as gojq has no
// order of its own.
//
// A program can use much memory and time within its limits. It runs on a
// goroutine that is left behind at the deadline of ctx when gojq does not
// heed it (test and gsub on long strings), and programs are refused while
// four are left behind. What cannot be contained in one process is memory,
// up to about 1 GB a second, and a stack of 1 GB that a construction which
// [maxBuildSteps] does not foresee might overflow: run programs from
// strangers in a worker process.
type JQ struct {
	Program string
}

func (q *JQ) String() string { return "jq " + show.Clip(q.Program, 200) }

const (
	maxProgramBytes = 10_000
	maxOutputs      = 100_000
	maxOutputBytes  = 32 << 20

	// maxStray programs may be stuck beyond their deadline at once.
	maxStray = 4
)

// stray counts programs whose caller has left.
var stray atomic.Int32

// Check is an [*Error] with code bad_jq for a program that does not parse.
func (q *JQ) Check() error {
	_, err := compileJQ(q.Program)
	return err
}

// Apply is an [*Error] with code bad_jq for a program that does not parse or
// fails on this data, and limit_time or limit_memory for one that is stopped.
func (q *JQ) Apply(ctx context.Context, in Value) (Value, error) {
	if stray.Load() >= maxStray {
		return Value{}, &Error{Code: LimitTime, Text: "jq is busy with programs that do not end", Hint: "use fields, or try again later"}
	}
	type result struct {
		out Value
		err error
	}
	var (
		done = make(chan result, 1)
		left atomic.Bool // whoever swaps it first decides who counts down
	)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{err: &Error{Code: BadJQ, Text: "jq: the program broke the interpreter", Hint: "write it differently",
					Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}}
			}
			if left.Swap(true) {
				stray.Add(-1)
			}
			done <- r
		}()
		program, err := compileJQ(q.Program)
		if err != nil {
			r.err = err
			return
		}
		r.out, r.err = program.run(ctx, in)
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done():
	}
	// Counted first, so that the goroutine cannot count down below zero.
	stray.Add(1)
	if left.Swap(true) {
		stray.Add(-1)
		r := <-done
		return r.out, r.err
	}
	return Value{}, ended(ctx.Err())
}

// A jqProgram is compiled and may run many times.
type jqProgram struct {
	code   *gojq.Code
	writes bool // it may write to its input, see [traits]
	builds bool // it may nest without limit, see [traits]
}

func (p *jqProgram) run(ctx context.Context, in Value) (Value, error) {
	tree, err := p.input(ctx, in)
	if err != nil {
		return Value{}, err
	}
	stop := &stepContext{Context: ctx, left: -1}
	if p.builds {
		stop.left = maxBuildSteps
	}
	var (
		buf   []byte
		n     int
		input = tree
		outs  = p.code.RunWithContext(stop, input)
	)
	for {
		v, ok := outs.Next()
		if !ok {
			break
		}
		if err, isErr := v.(error); isErr {
			if stop.err != nil {
				return Value{}, stop.err
			}
			if ctx.Err() != nil {
				return Value{}, ended(ctx.Err())
			}
			if halt := (*gojq.HaltError)(nil); errors.As(err, &halt) && halt.Value() == nil {
				break
			}
			return Value{}, runtimeError(err, tree)
		}
		if n++; n > maxOutputs {
			return Value{}, &Error{Code: LimitMemory, Text: fmt.Sprintf("jq: more than %s outputs", show.Count(maxOutputs)),
				Hint: "collect them, [ … ], count them, … | length, or take some, limit(100; …)"}
		}
		if buf, err = appendTree(buf, v, 0); err != nil {
			return Value{}, err
		}
		buf = append(buf, '\n')
	}
	kind := JSONLines
	if n == 1 {
		kind, buf = JSON, buf[:len(buf)-1]
	}
	out := derive(in, kind, buf)
	if n == 0 {
		out.addNote("the program gave no output")
	}
	return out, nil
}

// input is the document as a tree: shared if the program only reads it.
func (p *jqProgram) input(ctx context.Context, in Value) (any, error) {
	tree, err := memoised(in, "jq-tree", func() (any, int64, error) {
		if in.Kind == Text {
			return textTree(ctx, in)
		}
		return parseTree(ctx, in)
	})
	if err != nil {
		return nil, err
	}
	if p.writes && in.Memo != nil {
		return cloneTree(tree), nil
	}
	return tree, nil
}
