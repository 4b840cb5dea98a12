package jq

import (
	"errors"
	"fmt"
	"strings"

	"github.com/itchyny/gojq"

	"rlmproxy/pipeline/show"
)

// maxBuildSteps bounds the instructions of a program that can nest a value in
// itself, where a stack that overflows would end more than a worker. One level
// takes four at least, and gojq's functions recurse through levels on a stack
// that may reach 512 MiB, which some two million levels fill. It lets reduce
// run over 200,000 records.
const maxBuildSteps = 4_000_000

// A program is compiled, for one run.
type program struct {
	source string
	code   *gojq.Code
	fast   *fast // nil: it has no fast form
	writes bool  // it may write to its input, see [traits]
	builds bool  // it may nest without limit, see [traits]
}

// Check is an [*Error] with code bad_jq for a program that does not compile.
func Check(source string) error {
	_, err := compile(source)
	return err
}

// Compiles reports whether source is a program.
func Compiles(source string) bool {
	if len(source) > maxProgramBytes || nestsBeyond(source, maxProgramDepth) >= 0 {
		return false
	}
	query, err := gojq.Parse(source)
	if err != nil {
		return false
	}
	_, err = gojq.Compile(query)
	return err == nil && checkClock(query) == nil
}

// CheckSyntax is an [*Error] with code bad_jq for a program that does not parse. Unlike
// [Check] it takes time and memory as the program's length has it, whatever the
// program is.
func CheckSyntax(source string) error {
	_, err := parseProgram(source)
	return err
}

// parseProgram parses source, after what the parser itself would not survive was refused.
func parseProgram(source string) (*gojq.Query, error) {
	if err := checkSize(source); err != nil {
		return nil, err
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
	return query, nil
}

// compile parses and compiles source.
func compile(source string) (*program, error) {
	query, err := parseProgram(source)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, &Error{Code: Bad, Text: "jq: " + show.ClipBytes(err.Error(), 300), Hint: slipHint(source), Err: err}
	}
	if err := checkClock(query); err != nil {
		return nil, err
	}
	p := &program{source: source, code: code}
	p.writes, p.builds = traits(query)
	p.fast = newFast(query)
	return p, nil
}

func checkSize(source string) error {
	if len(source) <= maxProgramBytes {
		return nil
	}
	return &Error{Code: Bad, Text: fmt.Sprintf("jq: program of %s bytes; %s are allowed", show.Count(len(source)), show.Count(maxProgramBytes)),
		Hint: "a program looks like .items[] | {name, id}"}
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
	walkQuery(q, func(n any) {
		switch n := n.(type) {
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
	})
	return writes, builds
}
