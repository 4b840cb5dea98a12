//go:build unix

package keyring

import (
	"strings"
	"syscall"
	"testing"
)

// TestPipe holds that a named pipe in place of the file is refused: to open it waits for somebody to
// write, and no signal ends that.
func TestPipe(t *testing.T) {
	r := Open(t.TempDir())
	if err := syscall.Mkfifo(r.file.path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get("api"); err == nil || !strings.Contains(err.Error(), "a pipe, socket or device, not a file") {
		t.Errorf("error %v", err)
	}
}
