//go:build !linux && !windows

package process

// Adopt does nothing here: supervisors do what can be done.
func Adopt() (exit int, done bool) { return 0, false }
