package search

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
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
	Pattern string // its first 200 bytes if it is longer
	Err     error
}

func (e *PatternError) Error() string { return fmt.Sprintf("pattern %q: %v", e.Pattern, e.Err) }
func (e *PatternError) Unwrap() error { return e.Err }

// A pattern is a regular expression ready to search with, by one goroutine.
type pattern struct {
	re       *regexp.Regexp
	tree     *syntax.Regexp
	program  int       // instructions
	required []literal // see requiredLiterals

	behind *regexp.Regexp // see behindRune; compiled on first use
}

func compilePattern(expr string, fold bool) (*pattern, error) {
	p, err := compile(expr, fold)
	if err != nil {
		return nil, &PatternError{Pattern: preview(expr, 200), Err: err}
	}
	return p, nil
}

func compile(expr string, fold bool) (*pattern, error) {
	if expr == "" {
		return nil, errors.New("it is empty")
	}
	if len(expr) > maxPatternBytes {
		return nil, fmt.Errorf("it has %d bytes; %d are allowed", len(expr), maxPatternBytes)
	}
	flags := syntax.Perl
	if fold {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxProgram {
		return nil, fmt.Errorf("it compiles to %d instructions; %d are allowed: use smaller repeat counts", len(prog.Inst), maxProgram)
	}
	if fold {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	return &pattern{re: re, tree: tree, program: len(prog.Inst), required: requiredLiterals(tree)}, nil
}
