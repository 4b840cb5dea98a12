package corpus

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// TestFiles compares the list, the data and the README's table.
func TestFiles(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := data.ReadDir("data")
	if err != nil || len(entries) != len(Files) {
		t.Errorf("%d files in data, %d listed, %v", len(entries), len(Files), err)
	}
	before := math.MaxInt
	for _, f := range Files {
		b, err := Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		size := fmt.Sprintf("%d,%03d", len(b)/1000, len(b)%1000)
		if len(b) >= 1e6 {
			size = fmt.Sprintf("%d,%03d,%03d", len(b)/1e6, len(b)/1000%1000, len(b)%1000)
		}
		if len(b) > before {
			t.Errorf("%s, %d bytes, stands after a file of %d", f.Name, len(b), before)
		}
		before = len(b)
		if !strings.Contains(string(readme), "| "+f.Name+" | "+size+" |") {
			t.Errorf("README.md lacks %s with %s bytes", f.Name, size)
		}
	}
	if _, err := Open("../corpus.go"); err == nil {
		t.Error("a file outside the corpus was opened")
	}
}
