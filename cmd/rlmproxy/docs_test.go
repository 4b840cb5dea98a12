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
	named := 0
	for _, p := range pages(t) {
		for _, m := range regexp.MustCompile("`(Test[A-Z]\\w+)").FindAllStringSubmatch(p.text, -1) {
			if named++; !there[m[1]] {
				t.Errorf("%s: there is no %s", p.path, m[1])
			}
		}
	}
	if named < 40 {
		t.Errorf("%d tests are named", named)
	}
}

// TestDocsLinks: each file and heading that a page links to is there.
func TestDocsLinks(t *testing.T) {
	fences := regexp.MustCompile("(?ms)^```.*?^```$")
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	link := regexp.MustCompile(`\]\(([^)\s]*)\)`)
	// As GitHub makes them: letters, digits, "-" and "_" of the heading, with "-" for a blank.
	anchors := func(text string) map[string]bool {
		all := map[string]bool{"": true}
		for _, m := range heading.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			name := regexp.MustCompile(`[^\pL\pN_ -]`).ReplaceAllString(strings.ToLower(m[1]), "")
			all[strings.ReplaceAll(name, " ", "-")] = true
		}
		return all
	}
	links := 0
	for _, p := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(fences.ReplaceAllString(p.text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(m[1], "#")
			file := filepath.Join("..", "..", p.path)
			if path != "" {
				file = filepath.Join(filepath.Dir(file), path)
			}
			_, err := os.Stat(file)
			if err == nil && anchor != "" {
				var text []byte
				if text, err = os.ReadFile(file); err == nil && !anchors(string(text))[anchor] {
					err = fs.ErrNotExist
				}
			}
			if err != nil {
				t.Errorf("%s: %s: %v", p.path, m[1], err)
			}
		}
	}
	if links < 40 {
		t.Errorf("%d links", links)
	}
}
