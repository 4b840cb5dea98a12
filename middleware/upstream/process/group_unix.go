//go:build unix

package upstream

import (
	"os/exec"
	"syscall"
)

// ownGroup makes cmd the leader of a process group, so that signals reach the
// servers behind npx, uvx and shell wrappers.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup reports whether there was anybody left to signal.
func (p *process) signalGroup(kill bool) bool {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	return syscall.Kill(-p.cmd.Process.Pid, sig) == nil
}

func (p *process) groupAlive() bool {
	return syscall.Kill(-p.cmd.Process.Pid, 0) == nil && !onlyZombies(p.cmd.Process.Pid)
}
