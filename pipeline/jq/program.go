package jq

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/itchyny/gojq"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// A program is compiled, for one run.
type program struct {
	code   *gojq.Code
	writes bool // it may write to its input, see mayWrite
}

// Check is an [*Error] with code bad_jq for a program that does not compile.
func Check(source string) error {
	_, err := compile(source)
	return err
}

// Compiles reports whether source is a program.
func Compiles(source string) bool {
	query, err := parseProgram(source)
	if err != nil {
		return false
	}
	_, err = compileQuery(query)
	return err == nil
}

// CheckSyntax is an [*Error] with code bad_jq for a program that does not parse. Unlike
// [Check] it takes time and memory as the program's length has it, whatever the
// program is.
func CheckSyntax(source string) error {
	_, err := parseProgram(source)
	return err
}

// compile parses and compiles source.
func compile(source string) (*program, error) {
	query, err := parseProgram(source)
	if err != nil {
		return nil, err
	}
	code, err := compileQuery(query)
	if err != nil {
		return nil, err
	}
	return &program{code, mayWrite(query)}, nil
}

// parseProgram parses source, after it has refused what the parser itself would
// not survive.
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

// syntaxError shows the line of source where offset is, with a caret below:
//
//	jq: unexpected token "]"
//	    .items[]]
//	            ^
func syntaxError(source string, offset int, what string, cause error) *Error {
	text := fmt.Sprintf("jq: %s\n%s", show.ClipBytes(what, 200), show.Caret(source, offset))
	return &Error{Code: doc.BadJQ, Text: text, Err: cause}
}

func compileQuery(query *gojq.Query) (*gojq.Code, error) {
	code, err := compileWithBuiltins(query)
	if err != nil {
		return nil, &Error{Code: doc.BadJQ, Text: "jq: " + show.ClipBytes(err.Error(), 300), Err: err}
	}
	return code, checkClock(query)
}

func checkSize(source string) error {
	if len(source) <= maxProgramBytes {
		return nil
	}
	return &Error{Code: doc.BadJQ, Text: fmt.Sprintf("jq: program of %s bytes; %s are allowed", show.Count(len(source)), show.Count(maxProgramBytes)),
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

// mayWrite reports whether q uses an operator or a function behind which gojq
// stores into its input: into every array and object that del, delpaths and
// "|= empty" pass. Names count wherever they stand, so a function that the
// program defines under one of these names counts like the builtin.
func mayWrite(q *gojq.Query) (writes bool) {
	Walk(q, func(n any) {
		switch n := n.(type) {
		case *gojq.Func:
			switch n.Name {
			case "del", "delpaths", "map_values", "walk", "truncate_stream", "_modify", "_assign":
				writes = true
			}
		case *gojq.Query:
			switch n.Op {
			case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
				writes = true
			}
		}
	})
	return writes
}

// Walk calls visit for each part of a query.
func Walk(q *gojq.Query, visit func(part any)) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				return
			}
			visit(v.Interface())
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
}

// The same program over the same document must give the same bytes, so a program
// may not ask for the time or the time zone. forbidden has the functions that do,
// by name and number of arguments, and what to write instead. Workers set their
// zone to UTC, for strptime. mktime, gmtime and strftime are UTC by themselves,
// and the environment is empty.
var forbidden = map[string]string{
	"now/0":           `write the time as a literal: ("2025-06-01T00:00:00Z" | fromdate)`,
	"localtime/0":     "use gmtime, which is UTC",
	"strflocaltime/1": "use strftime, which is UTC",
}

// checkClock is an [*Error] for a program that asks for the time or the zone.
func checkClock(q *gojq.Query) error {
	name := func(name string, args int) string { return fmt.Sprintf("%s/%d", name, args) }
	defined := map[string]bool{}
	Walk(q, func(part any) {
		if def, ok := part.(*gojq.FuncDef); ok {
			defined[name(def.Name, len(def.Args))] = true
			for _, arg := range def.Args {
				defined[name(arg, 0)] = true
			}
		}
	})
	var err error
	Walk(q, func(part any) {
		f, ok := part.(*gojq.Func)
		if !ok || err != nil {
			return
		}
		if called := name(f.Name, len(f.Args)); forbidden[called] != "" && !defined[called] {
			err = &Error{Code: doc.BadJQ, Text: "jq: " + f.Name + " is not allowed: a program must give the same answer at any time", Hint: forbidden[called]}
		}
	})
	return err
}
