//go:build unix

package config

import (
	"syscall"
	"testing"
)

func makePipe(t *testing.T, path string) bool {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return true
}
