package jq

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/itchyny/gojq"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// run runs p over a document.
func (p *program) run(ctx context.Context, document any) (Output, error) {
	var out Output
	values := p.code.RunWithContext(ctx, document)
	for {
		v, ok := values.Next()
		if !ok {
			return out, nil
		}
		if err, isErr := v.(error); isErr {
			if ctx.Err() != nil {
				return Output{}, ctx.Err()
			}
			if halt := (*gojq.HaltError)(nil); errors.As(err, &halt) && halt.Value() == nil {
				return out, nil
			}
			return Output{}, &Error{Code: doc.BadJQ, Text: "jq: " + show.ClipBytes(strings.ToValidUTF8(err.Error(), "�"), 300), Err: err}
		}
		if err := out.add(v); err != nil {
			return Output{}, err
		}
	}
}

const brokeText = "jq: the program crashed the interpreter"

// safely is run for a program that may break the interpreter.
func (p *program) safely(ctx context.Context, document any) (out Output, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Error{Code: doc.BadJQ, Text: brokeText, Hint: "write it differently",
				Err: fmt.Errorf("panic: %v\n%s", r, debug.Stack())}
		}
	}()
	return p.run(ctx, document)
}

// Eval runs a program over a document in this process: for tests and tools, not
// for programs of strangers, whose time, memory and stack nothing bounds here. A
// program that does not heed the end of ctx is left behind.
//
// Its error is an [*Error], or that of ctx.
func Eval(ctx context.Context, kind Kind, data []byte, source string) (Output, error) {
	type result struct {
		out Output
		err error
	}
	done := make(chan result, 1)
	go func() {
		p, err := compile(source)
		if err != nil {
			done <- result{err: err}
			return
		}
		document, err := parse(kind, data)
		if err != nil {
			done <- result{err: err}
			return
		}
		out, err := p.safely(ctx, document)
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		return r.out, ended(r.err)
	case <-ctx.Done():
		return Output{}, ended(ctx.Err())
	}
}
