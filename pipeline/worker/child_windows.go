//go:build windows

package worker

import (
	"os/exec"
	"syscall"
)

// isolate makes cmd the leader of a process group. The end of stdin ends it
// when we end.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
