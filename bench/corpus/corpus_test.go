package corpus

import (
	"fmt"
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
	for _, f := range Files {
		b, err := Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		size := fmt.Sprintf("%d,%03d,%03d", len(b)/1e6, len(b)/1000%1000, len(b)%1000)
		if !strings.Contains(string(readme), "| "+f.Name+" | "+size+" |") {
			t.Errorf("README.md lacks %s with %s bytes", f.Name, size)
		}
	}
	if _, err := Open("../corpus.go"); err == nil {
		t.Error("a file outside the corpus was opened")
	}
}
