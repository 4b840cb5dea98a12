package main

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitecture: docs/architecture.md lists the packages so that imports point
// down the list, and names tests that exist.
func TestArchitecture(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	var tree []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		tree = append(tree, m[1])
	}
	outside := []string{"bench", "bench/aggregator", "bench/bleve", "bench/quality", "e2e", "internal/busytest", "internal/transcripttest", "pipeline/digest/digesttest", "pipeline/doctest"} // tests only
	var tests strings.Builder
	err = filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(file, "_test.go"):
			b, err := os.ReadFile(file)
			tests.Write(b)
			return err
		case !strings.HasSuffix(file, ".go"):
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		pkg := filepath.ToSlash(rel)
		if err != nil || slices.Contains(outside, pkg) {
			return err
		}
		at := slices.Index(tree, pkg)
		if at < 0 {
			t.Errorf("%s is not in docs/architecture.md", pkg)
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range parsed.Imports {
			name, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "rlmproxy/")
			if ours && slices.Index(tree, name) <= at {
				t.Errorf("%s imports %s, which is above it", path.Join(pkg, filepath.Base(file)), name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 8 || len(tree) < 10 {
		t.Errorf("%d packages and %d tests are named", len(tree), len(named))
	}
	for _, m := range named {
		if !strings.Contains(tests.String(), "func "+m[1]+"(t *testing.T)") {
			t.Errorf("there is no %s", m[1])
		}
	}
}
