package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/config/catalogue"
)

// TestDocsCatalogue: the table of docs/add.md is that of the catalogue, and the file of one's own
// in it is one. With -update it writes the table.
func TestDocsCatalogue(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "add.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| server | what it is | needs | |\n| --- | --- | --- | --- |\n")
	for _, name := range all.Names() {
		e := all[name]
		list := e.Needs
		for v, about := range e.Variables {
			list = append(list, fmt.Sprintf("`%s`: %s", v, about))
		}
		if e.SignIn {
			list = append(list, "signing in")
		}
		how := ""
		if e.Offline {
			how = "offline"
		}
		fmt.Fprintf(&b, "| [`%s`](%s) | %s | %s | %s |\n", e.Usage(), e.Homepage, e.Description, strings.Join(list, "; "), how)
	}
	const begin, end = "<!-- catalogue: go test ./cmd/rlmproxy -run Docs -update -->\n", "<!-- end of catalogue -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !ok || !ends {
		t.Fatal("docs/add.md has no place for the table")
	}
	is := before + begin + b.String() + end + after
	if *update && is != string(text) {
		if err := os.WriteFile(file, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(is, string(text)); diff != "" {
		t.Errorf("go test ./cmd/rlmproxy -run Docs -update writes this into docs/add.md (-code +docs):\n%s", diff)
	}
	_, own, _ := strings.Cut(after, "```json\n")
	own, _, _ = strings.Cut(own, "```")
	if c, err := catalogue.Parse("docs/add.md", []byte(own)); err != nil || len(c) != 1 {
		t.Errorf("the file of one's own: %v", err)
	}
}
