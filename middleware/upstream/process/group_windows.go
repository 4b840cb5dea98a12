//go:build windows

package process

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
func (p *Process) signalGroup(bool) bool {
	if !p.groupAlive() {
		return false
	}
	return exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.cmd.Process.Pid)).Run() == nil
}

// groupAlive reports whether the server itself runs. The state in p.cmd may be
// written meanwhile.
func (p *Process) groupAlive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}
