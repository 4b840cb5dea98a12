//go:build unix && !linux

package worker

import (
	"os/exec"
	"syscall"
)

// isolate makes cmd the leader of a process group. The end of stdin ends it
// when we end.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
