package jq

import (
	"context"
	"errors"
	"fmt"

	"github.com/itchyny/gojq"

	"rlmproxy/pipeline/show"
)

// A fast program is a program as Go functions over a tree, fifty times as fast
// over records as gojq's instructions over maps. Which part of the language it
// has is in native.go; other parts run in gojq, see leaf.go, and a program that
// is one of these from the outermost on has no fast form.
//
// It gives what gojq gives or gives up, at run time too: on every error, whose
// text and order are gojq's, the program runs again there. A function keeps its
// state in the variables that it closes over, so a fast program runs once.
type fast struct {
	r   *runner
	top func(v any)
}

// A runner is what the functions of one program share.
type runner struct {
	stop *stop
	n    uint // steps
	// cut is set while loops end, up to the function that set it, which has
	// that number: first, limit and their like.
	cut  int
	cuts int // numbers given
	conv converter
	left int                   // values that may be converted
	ops  map[string]*gojq.Code // see inGo
	out  Output
}

// Why a fast program ends early.
var (
	errStuck    = errors.New("jq: an error, or only gojq knows") // try catches it
	errGiveUp   = errors.New("jq: better in gojq")
	errNoFast   = errors.New("jq: no fast form")
	errFastStop = errors.New("jq: stopped")
)

// A giveUp is the panic of a fast program that ends early. Its functions are
// too small to hand errors up.
type giveUp struct{ err error }

// maxConverted bounds the values that pass to gojq and back. Where parts of a
// large tree pass again and again, all of the program is faster there.
const maxConverted = 4 << 20

// newFast is the fast form of query, or nil.
func newFast(query *gojq.Query) (f *fast) {
	r := &runner{left: maxConverted}
	r.conv.ended = func(values int) error {
		r.step()
		if r.left -= values; r.left < 0 {
			return errGiveUp
		}
		return nil
	}
	defer func() {
		if e := recover(); e != nil {
			if g, ok := e.(giveUp); !ok || g.err != errNoFast {
				panic(e)
			}
			f = nil
		}
	}()
	b := &builder{r: r}
	e, ok := b.native(query)
	if !ok {
		return nil
	}
	return &fast{r, e.each(r.emit)}
}

// run runs f over tree. The error is errStuck or errGiveUp if gojq has to.
func (f *fast) run(s *stop, tree any) (out Output, err error) {
	r := f.r
	r.stop = s
	defer func() {
		if e := recover(); e != nil {
			g, ok := e.(giveUp)
			if !ok {
				panic(e)
			}
			if out, err = (Output{}), g.err; err == errFastStop {
				err = context.Canceled
			}
		}
	}()
	r.poll()
	f.top(tree)
	return r.out, nil
}

// stuck ends f where gojq would have an error.
func (r *runner) stuck() { panic(giveUp{errStuck}) }

// pollEvery is after how many steps a fast program looks whether to stop: some
// ten microseconds.
const pollEvery = 1024

// step is called in each loop.
func (r *runner) step() {
	if r.n++; r.n%pollEvery == 0 {
		r.poll()
	}
}

func (r *runner) poll() {
	if r.stop.now.Load() {
		panic(giveUp{errFastStop})
	}
}

// newCut is a number for cut.
func (r *runner) newCut() int {
	r.cuts++
	return r.cuts
}

// uncut ends the cut of that number and reports whether there was one.
func (r *runner) uncut(id int) bool {
	if r.cut != id {
		return false
	}
	r.cut = 0
	return true
}

func (r *runner) emit(v any) {
	if err := r.out.add(v); err != nil {
		panic(giveUp{err})
	}
	r.step()
}

// add puts out one more value.
func (out *Output) add(v any) (err error) {
	if out.N++; out.N > maxOutputs {
		return &Error{Code: LimitMemory, Text: fmt.Sprintf("jq: more than %s outputs", show.Count(maxOutputs)),
			Hint: "collect them, [ … ], count them, … | length, or take some, limit(100; …)"}
	}
	if out.Data, err = appendTree(out.Data, v, 0); err != nil {
		return err
	}
	if out.Data = append(out.Data, '\n'); len(out.Data) > maxOutputBytes {
		return tooLong()
	}
	return nil
}

// try is f(v), or false where it is stuck.
func (r *runner) try(f func(any) any, v any) (x any, ok bool) {
	defer func() {
		if e := recover(); e != nil {
			if g, is := e.(giveUp); !is || g.err != errStuck {
				panic(e)
			}
			x, ok = nil, false
		}
	}()
	return f(v), true
}

// toGo is v as gojq takes it.
func (r *runner) toGo(v any) any { return r.converted(r.conv.out(v)) }

// fromGo is what gojq gave.
func (r *runner) fromGo(v any) any { return r.converted(r.conv.in(v)) }

func (r *runner) converted(v any, err error) any {
	if err != nil {
		panic(giveUp{err})
	}
	return v
}
