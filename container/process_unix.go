//go:build unix

package container

import (
	"errors"
	"os/exec"
	"syscall"
)

// isolate keeps what is typed at the proxy's terminal from cmd. It may outlive us: then its stdin
// ends, which ends its container, and it removes that.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// alive reports whether there is a process of this ID.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
