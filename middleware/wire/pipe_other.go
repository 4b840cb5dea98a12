//go:build !linux

package wire

// Widen does nothing here: only Linux lets a process choose the size of a pipe.
func Widen(any) {}

// Gone reports nothing here: without Linux's ppoll, whoever reads is known to have
// gone when something is written.
func Gone(any) bool { return false }
