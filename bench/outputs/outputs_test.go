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
	for _, name := range slices.Concat(Names(), Whole()) {
		if !strings.Contains(string(readme), "| "+name+" |") {
			t.Errorf("README.md has no row for %s", name)
		}
		if b, err := Open(name); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}
