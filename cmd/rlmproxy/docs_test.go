package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsNameTests: the tests by which docs say that something is held are there.
func TestDocsNameTests(t *testing.T) {
	root := filepath.Join("..", "..")
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "node_modules", d.Name() == ".git":
			if !d.IsDir() { // a link, or a worktree: SkipDir would skip what stands beside it
				return nil
			}
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, file := range append(files, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`(Test[A-Z]\\w+)").FindAllStringSubmatch(string(text), -1) {
			if named++; !there[m[1]] {
				t.Errorf("%s: there is no %s", file, m[1])
			}
		}
	}
	if named < 40 {
		t.Errorf("%d tests are named", named)
	}
}
