package outputs

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestReadme holds that each file is in the README, with where it is from.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(readme)) {
		if cells := strings.Split(line, " | "); len(cells) == 3 {
			for _, name := range strings.Split(strings.TrimPrefix(cells[0], "| "), ", ") {
				rows[name] = true
			}
		}
	}
	for _, name := range slices.Concat(Names(), Whole()) {
		if !rows[name] {
			t.Errorf("README.md has no row for %s", name)
		}
		if b, err := Open(name); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}
