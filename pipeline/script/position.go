package script

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// The source is the body of a function, whose head is a line of its own.
const (
	headLines = 1
	head      = "(function (args) {\n"
	asyncHead = "(async function (args) {\n"
	foot      = "\n})"

	// sourceName is that of the program within the interpreter.
	sourceName = "program"
)

// compile compiles the program: as a function, or as an async one if it is none of the other.
func (r *run) compile() (*goja.Program, *Error) {
	code, err := compiled(head + r.Source + foot)
	if err != nil {
		async, asyncErr := compiled(asyncHead + r.Source + foot)
		if asyncErr == nil {
			return async, nil
		}
		if strings.Contains(r.Source, "await") {
			err = asyncErr
		}
		return nil, r.explain(err)
	}
	return code, nil
}

func compiled(source string) (*goja.Program, error) {
	// Source maps are files.
	parsed, err := parser.ParseFile(nil, sourceName, source, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, err
	}
	return goja.CompileAST(parsed, false)
}

// A rejected promise was returned by the program.
type rejected struct{ value goja.Value }

func (e *rejected) Error() string { return "the promise was rejected" }

// explain is an error of the program with its place in the source.
func (r *run) explain(err error) *Error {
	e := &Error{Code: doc.BadProgram}
	line, column := 0, 0
	var (
		syntax    parser.ErrorList
		compiler  *goja.CompilerSyntaxError
		reference *goja.CompilerReferenceError
		stopped   *goja.InterruptedError
		overflow  *goja.StackOverflowError
		exception *goja.Exception
		promise   *rejected
	)
	switch {
	case errors.As(err, &syntax) && len(syntax) > 0:
		e.Text = "SyntaxError: " + syntax[0].Message
		line, column = syntax[0].Position.Line, syntax[0].Position.Column
	case errors.As(err, &compiler):
		e.Text = "SyntaxError: " + compiler.Message
		at := compiler.File.Position(compiler.Offset)
		line, column = at.Line, at.Column
	case errors.As(err, &reference):
		e.Text = "ReferenceError: " + reference.Message
		at := reference.File.Position(reference.Offset)
		line, column = at.Line, at.Column
	case errors.As(err, &stopped):
		line, column = placeIn(stopped.Stack())
		if why, ok := stopped.Value().(*Error); ok {
			*e = *why
		}
	case errors.As(err, &overflow):
		line, column = placeIn(overflow.Stack())
		*e = Error{Code: doc.LimitMemory, Text: fmt.Sprintf("calls nest deeper than %s", show.Count(maxCallDepth)), Hint: "use a loop"}
	case errors.As(err, &exception):
		e.Text = r.said(exception.Value())
		if line, column = placeIn(exception.Stack()); line == 0 {
			line, column = r.placeOf(exception.Value())
		}
	case errors.As(err, &promise):
		e.Text = r.said(promise.value)
		line, column = r.placeOf(promise.value)
	default:
		e.Text = err.Error()
	}
	lines := strings.Count(r.Source, "\n") + 1
	if line > lines+headLines {
		e.Text = "SyntaxError: a bracket, brace or parenthesis is missing, or one too many"
	}
	e.Text = show.ClipBytes(strings.ToValidUTF8(e.Text, "\uFFFD"), 500)
	if e.Code == doc.BadProgram && e.Hint == "" {
		e.Hint = r.hint(e.Text, r.lineAt(line-headLines))
	}
	e.Text = r.Name + ": " + e.Text
	if line -= headLines; line > 0 {
		offset := offsetOf(r.Source, line, column)
		line = min(line, lines) // what lacks an end is missed behind the last
		column = 1 + utf8.RuneCountInString(r.Source[strings.LastIndexByte(r.Source[:offset], '\n')+1:offset])
		e.Text += fmt.Sprintf(" (line %d, column %d)\n%s", line, column, show.Caret(r.Source, offset))
	}
	return e
}

// lineAt is a line of the source, which count from 1, or "".
func (r *run) lineAt(n int) string {
	for line := range strings.Lines(r.Source) {
		if n--; n == 0 {
			return line
		}
	}
	return ""
}

// said is what was thrown, in a line.
func (r *run) said(v goja.Value) (text string) {
	text = "an exception"
	r.try(func() { text = v.String() })
	return text
}

// try does what may run code of the program, which may end it once more.
func (r *run) try(do func()) {
	defer func() { _ = recover() }() // what was to be shown is not
	_ = r.vm.Try(do)
}

// placeIn is the first place of a stack that is in the program, zero for none.
func placeIn(stack []goja.StackFrame) (line, column int) {
	for _, frame := range stack {
		if at := frame.Position(); frame.SrcName() == sourceName && at.Line > 0 {
			return at.Line, at.Column
		}
	}
	return 0, 0
}

var frameInStack = regexp.MustCompile(`\b` + sourceName + `:(\d+):(\d+)\(`)

// placeOf is where an error was made, zero for none.
func (r *run) placeOf(v goja.Value) (line, column int) {
	object, ok := v.(*goja.Object)
	if !ok {
		return 0, 0
	}
	stack := ""
	r.try(func() {
		if v := object.Get("stack"); v != nil {
			stack = v.String()
		}
	})
	if m := frameInStack.FindStringSubmatch(stack); m != nil {
		line, _ = strconv.Atoi(m[1])
		column, _ = strconv.Atoi(m[2])
	}
	return line, column
}

// offsetOf is the offset of a line and column, which count from 1.
func offsetOf(source string, line, column int) int {
	at := 0
	for range line - 1 {
		end := strings.IndexByte(source[at:], '\n')
		if end < 0 {
			return len(source)
		}
		at += end + 1
	}
	return min(at+max(column-1, 0), len(source))
}
