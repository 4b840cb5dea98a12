package pipeline

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/itchyny/gojq"

	"rlmproxy/pipeline/show"
)

const (
	maxProgramDepth = 200

	// maxBuildSteps bounds the instructions of a program that can nest a
	// value in itself. One level takes four at least, and gojq's functions
	// recurse through levels on a stack that may reach 512 MiB, which some
	// two million levels fill. It lets reduce run over 200,000 records.
	maxBuildSteps = 4_000_000
)

// A stepContext is asked for Done before each instruction, which makes it a
// counter of them. It belongs to one goroutine.
type stepContext struct {
	context.Context
	left int // negative: no limit
	err  error
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (c *stepContext) Done() <-chan struct{} {
	if c.left > 0 {
		c.left--
	}
	if c.left == 0 {
		c.err = &Error{Code: LimitTime, Text: fmt.Sprintf("jq: stopped after %s steps, the limit for reduce, foreach, recursion and paths built by programs", show.Count(maxBuildSteps)),
			Hint: "use map, select, group_by, add or length, which have no such limit"}
		return closed
	}
	return c.Context.Done()
}

func (c *stepContext) Err() error {
	if c.err != nil {
		return c.err
	}
	return c.Context.Err()
}

// compileJQ parses and compiles source, after what the parser itself would
// not survive was refused.
func compileJQ(source string) (*jqProgram, error) {
	if len(source) > maxProgramBytes {
		return nil, &Error{Code: BadJQ, Text: fmt.Sprintf("jq: program of %s bytes; %s are allowed", show.Count(len(source)), show.Count(maxProgramBytes))}
	}
	if at := nestsBeyond(source, maxProgramDepth); at >= 0 {
		return nil, syntaxError(source, at, fmt.Sprintf("program nests deeper than %d levels", maxProgramDepth), nil)
	}
	query, err := gojq.Parse(source)
	if err != nil {
		var pe *gojq.ParseError
		if errors.As(err, &pe) {
			return nil, syntaxError(source, pe.Offset-len(pe.Token), pe.Error(), err)
		}
		return nil, syntaxError(source, 0, err.Error(), err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, &Error{Code: BadJQ, Text: "jq: " + show.Clip(err.Error(), 300), Hint: slipHint(source), Err: err}
	}
	p := &jqProgram{code: code}
	p.writes, p.builds = traits(query)
	return p, nil
}

// nestsBeyond returns where the brackets of source open more than limit
// levels, or -1. Strings are not skipped: that could only hide what an
// interpolation nests. What else nests is bounded by the program's length.
func nestsBeyond(source string, limit int) int {
	depth := 0
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth > limit {
			return i
		}
	}
	return -1
}

var (
	writers  = setOf("del delpaths map_values walk truncate_stream _modify _assign")
	builders = setOf("repeat until while setpath getpath del delpaths fromstream pick")
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// traits walks the program and its sub-programs and reports what its words
// may do. Names count wherever they stand, so a shadowed one is treated
// like the builtin: too careful, never too bold.
//
//   - writes: gojq's deleteEmpty, behind del, delpaths and |= empty, stores
//     into every container it passes, shared or not, and so races.
//   - builds: loops can nest a value in itself as deep as they run long,
//     and setpath nests as deep as a path is long.
func traits(q *gojq.Query) (writes, builds bool) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				return
			}
			switch n := v.Interface().(type) {
			case *gojq.Func:
				writes = writes || writers[n.Name]
				builds = builds || builders[n.Name] || n.Name == "recurse" && len(n.Args) > 0
			case *gojq.Reduce, *gojq.Foreach, *gojq.FuncDef:
				builds = true
			case *gojq.Query:
				switch n.Op {
				case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
					writes = true
				}
			}
			walk(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		}
	}
	walk(reflect.ValueOf(q))
	return writes, builds
}

// compiles reports whether a corrected program would run. It does not ask
// compileJQ, whose error would ask for a correction again.
func compiles(source string) bool {
	query, err := gojq.Parse(source)
	if err != nil {
		return false
	}
	_, err = gojq.Compile(query)
	return err == nil
}
