//go:build unix

package rpc

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
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	near, far := os.NewFile(uintptr(pair[0]), "near"), os.NewFile(uintptr(pair[1]), "far")
	defer near.Close()
	for name, to := range map[string]struct{ end, other *os.File }{"pipe": {w, r}, "socket": {near, far}} {
		if gone, known := Gone(to.end); gone || !known {
			t.Errorf("%s: gone at once %v, known %v", name, gone, known)
		}
		to.other.Close()
		if gone, known := Gone(to.end); !gone || !known {
			t.Errorf("%s: gone %v, known %v", name, gone, known)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if gone, _ := Gone(null); gone {
		t.Error("what is no pipe is gone")
	}
	if gone, known := Gone(nil); gone || known {
		t.Errorf("of nothing, gone %v is known %v", gone, known)
	}
}
