package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/doctor.golden, docs/demo.svg, the tables of docs/configuration.md, and lines and imports in docs/architecture.md")

// TestArchitectureTable: docs/architecture.md says how many lines each package has, to a
// tenth, and which of our packages it imports.
func TestArchitectureTable(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "architecture.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\| ([^|]+) \\| *([^|]*?) *\\| *([^|]*?) *\\|$")
	n := 0
	rewritten := row.ReplaceAllFunc(text, func(line []byte) []byte {
		n++
		m := row.FindStringSubmatch(string(line))
		lines, imports := measure(t, m[1])
		said, _ := strconv.Atoi(m[3])
		if !*update && (said < lines*9/10 || said > lines*11/10) {
			t.Errorf("%s has %d lines, not %q", m[1], lines, m[3])
		}
		if !*update && m[4] != imports {
			t.Errorf("%s imports %s, not %s", m[1], imports, m[4])
		}
		return fmt.Appendf(nil, "| `%s` | %s | %d | %s |", m[1], m[2], lines, imports)
	})
	if n < 30 {
		t.Errorf("%d packages", n)
	}
	if *update && !bytes.Equal(rewritten, text) {
		if err := os.WriteFile(file, rewritten, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// measure counts the lines of a package, without tests, and lists those of ours that it
// imports.
func measure(t *testing.T, pkg string) (lines int, imports string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(b, []byte{'\n'})
		parsed, err := parser.ParseFile(token.NewFileSet(), file, b, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			if name, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "rlmproxy/"); ours {
				names = append(names, strings.NewReplacer("middleware/", "m/", "pipeline/", "p/").Replace(name))
			}
		}
	}
	slices.Sort(names)
	return lines, strings.Join(slices.Compact(names), ", ")
}
