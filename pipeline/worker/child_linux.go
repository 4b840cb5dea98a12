//go:build linux

package worker

import (
	"os/exec"
	"syscall"
)

// isolate makes cmd the leader of a process group that the system kills when
// we end in whatever way. Where it cannot, the end of stdin ends the worker.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
