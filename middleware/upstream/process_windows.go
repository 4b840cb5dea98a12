//go:build windows

package upstream

import (
	"os/exec"
	"strconv"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// signalGroup ends the process tree; Windows has no gentle way that reaches
// console programs without a console.
func signalGroup(cmd *exec.Cmd, kill bool) bool {
	if !groupAlive(cmd) {
		return false
	}
	return exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() == nil
}

func groupAlive(cmd *exec.Cmd) bool { return cmd.ProcessState == nil }
