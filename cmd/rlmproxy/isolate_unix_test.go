//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"
)

func probe(p *os.Process) bool { return p.Signal(syscall.Signal(0)) == nil }

func interrupt(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}
