package search

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// maxPatternBytes bounds a pattern. Compiling 1 MB takes 0.8 s; what
	// people write by hand stays below 200 bytes.
	maxPatternBytes = 1000

	// maxProgram bounds the compiled pattern. Matching costs up to its
	// length per byte of text, and \pL{1000} is 1000 instructions.
	maxProgram = 10_000
)

// A PatternError is a pattern that cannot be used.
type PatternError struct {
	// Pattern is the pattern, its first 200 bytes if it is longer.
	Pattern string
	// Offset is the byte of the pattern where the error is, or -1.
	Offset int
	Err    error
}

func (e *PatternError) Error() string { return fmt.Sprintf("pattern %q: %v", e.Pattern, e.Err) }
func (e *PatternError) Unwrap() error { return e.Err }

// A pattern is a regular expression ready to search with, by one goroutine.
type pattern struct {
	re       *regexp.Regexp
	tree     *syntax.Regexp
	program  int // instructions
	required required

	behind *regexp.Regexp // see behindRune; compiled on first use
}

func compilePattern(expr string, fold bool) (*pattern, error) {
	bad := func(offset int, err error) error {
		return &PatternError{Pattern: preview(expr, 200), Offset: offset, Err: err}
	}
	if expr == "" {
		return nil, bad(-1, errors.New("is empty"))
	}
	if len(expr) > maxPatternBytes {
		return nil, bad(-1, fmt.Errorf("has %d bytes, the limit is %d", len(expr), maxPatternBytes))
	}
	if _, err := syntax.Parse(expr, syntax.Perl); err != nil {
		return nil, bad(errorOffset(expr, err), err)
	}
	if fold {
		expr = "(?i)" + expr
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, bad(-1, err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, bad(-1, err)
	}
	if len(prog.Inst) > maxProgram {
		return nil, bad(-1, fmt.Errorf("compiles to %d instructions, the limit is %d: use smaller repeat counts", len(prog.Inst), maxProgram))
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, bad(-1, err)
	}
	return &pattern{re: re, tree: tree, program: len(prog.Inst), required: requiredBy(tree)}, nil
}

// errorOffset locates the fragment that a syntax error names. Fragments
// that are the whole pattern, or occur twice, locate nothing.
func errorOffset(expr string, err error) int {
	var se *syntax.Error
	if !errors.As(err, &se) || se.Expr == "" || se.Expr == expr || strings.Count(expr, se.Expr) != 1 {
		return -1
	}
	return strings.Index(expr, se.Expr)
}
