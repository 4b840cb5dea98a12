package digest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFiles holds what real files of Go's library and tools are called, and what they are
// not: what is not sure is plain text.
func TestFiles(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command")
	}
	may := map[string]string{ // besides plain text
		".go": "source, log", ".c": "source", ".h": "source", ".s": "source", ".py": "source", ".js": "source", ".css": "source", ".pl": "source", ".bash": "source", ".bat": "source",
		".md": "Markdown", ".html": "HTML", ".svg": "XML", ".mod": "source", ".proto": "source", ".rules": "", ".cfg": "",
	}
	counts := map[string]int{}
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		ext := filepath.Ext(path)
		kinds, known := may[ext]
		if counts[ext]++; !known || ext == ".go" && counts[ext]%10 > 0 {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if kind := Kind(text); len(text) > 500 && kind != "plain text" && !strings.Contains(kinds, kind) {
			t.Errorf("%s is called %s", path, kind)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
