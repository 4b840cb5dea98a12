package wire

import (
	"os"
	"syscall"
	"testing"
)

// TestGone: whoever reads a pipe or a socket is there until both its ends are closed.
func TestGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	near, far := os.NewFile(uintptr(pair[0]), "near"), os.NewFile(uintptr(pair[1]), "far")
	defer near.Close()
	for name, to := range map[string]struct{ end, other *os.File }{"pipe": {w, r}, "socket": {near, far}} {
		if Gone(to.end) {
			t.Errorf("%s: gone at once", name)
		}
		to.other.Close()
		if !Gone(to.end) {
			t.Errorf("%s: not gone", name)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if Gone(null) || Gone(nil) {
		t.Error("what is no pipe is gone")
	}
}
