//go:build unix && !linux

package process

import "syscall"

// adoptOrphans does nothing: here nobody can adopt processes but the system's first.
func adoptOrphans(*syscall.SysProcAttr) {}

// gone reports whether nothing is left of the group.
func (b *tree) gone() bool { return syscall.Kill(-b.first, 0) != nil }

// signal signals the group, and the first process should it have left it.
func (b *tree) signal(sig syscall.Signal) {
	_ = syscall.Kill(-b.first, sig) // there may be none left
	select {
	case <-b.none:
	default:
		_ = syscall.Kill(b.first, sig)
	}
}
