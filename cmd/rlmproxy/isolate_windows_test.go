package main

import (
	"os"
	"testing"
)

func probe(*os.Process) bool { return true } // finding it has opened it

func interrupt(t *testing.T, _ *os.Process) {
	t.Helper()
	t.Skip("a process cannot be asked to end here")
}
