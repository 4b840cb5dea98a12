package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxSteps is how many functions one call may pass.
const maxSteps = 40

// TestArchitectureSteps: docs/architecture.md draws the way of a call function by
// function. Each step is a function that is there, and that one of the steps above it
// names: by its own name or, where it is called by a field or an interface, by the one
// that the step says.
func TestArchitectureSteps(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, drawn, _ := strings.Cut(string(text), "### A result that is cut\n")
	drawn, _, _ = strings.Cut(drawn, "\n## ")
	cut, filter, _ := strings.Cut(drawn, "### proxy_filter\n")
	step := regexp.MustCompile("(?m)^\\d+\\. `([\\w/]+)\\.([\\w.]+)`(?:[^`\n]*?, as `(\\w+)`)?")
	for name, list := range map[string]string{"a result that is cut": cut, "proxy_filter": filter} {
		steps := step.FindAllStringSubmatch(list, -1)
		if len(steps) < 20 || len(steps) >= maxSteps {
			t.Errorf("%s takes %d steps", name, len(steps))
		}
		named := map[string]bool{} // by the steps so far
		for i, m := range steps {
			body := functionNames(t, m[1], m[2])
			if body == nil {
				t.Errorf("%s: there is no %s.%s", name, m[1], m[2])
			}
			called := m[2][strings.LastIndexByte(m[2], '.')+1:]
			if m[3] != "" {
				called = m[3]
			}
			if i > 0 && !named[called] {
				t.Errorf("%s: no step above calls %s.%s", name, m[1], m[2])
			}
			for n := range body {
				named[n] = true
			}
		}
	}
}

// functionNames are the identifiers in the body of a function of a package, nil if it is
// not there. Name is that of a function, or of a type and its method.
func functionNames(t *testing.T, pkg, name string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || receiver(f)+f.Name.Name != name {
				continue
			}
			names := map[string]bool{}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					names[id.Name] = true
				}
				return true
			})
			return names
		}
	}
	return nil
}

// receiver is the type that a method is of and a dot, or "".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name + "."
	}
	return ""
}
