//go:build unix

package process

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strconv"
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
	if runtime.GOOS != "linux" {
		return false
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent group …", in which the name may be anything
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(group) && fields[0][0] != 'Z' && fields[0][0] != 'X' {
			return false
		}
	}
	return true
}
