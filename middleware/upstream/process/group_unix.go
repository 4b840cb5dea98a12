//go:build unix

package process

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ownGroup makes cmd the leader of a process group, so that signals reach the
// servers behind npx, uvx and shell wrappers.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup reports whether there was anybody left to signal.
func (p *Process) signalGroup(kill bool) bool {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	return syscall.Kill(-p.cmd.Process.Pid, sig) == nil
}

func (p *Process) groupAlive() bool {
	return syscall.Kill(-p.cmd.Process.Pid, 0) == nil && !onlyZombies(p.cmd.Process.Pid)
}

// onlyZombies reports whether nothing of a process group runs any more, though some of
// it has not been waited for. In containers that can take long: the first process
// inherits what a shell leaves behind, and need not look after it. It is known on Linux
// only.
func onlyZombies(group int) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent group …", in which the name may be anything
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" && fields[0] != "X" {
			return false
		}
	}
	return len(paths) > 0
}
