package container

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate keeps what is typed at the proxy's terminal from cmd.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// alive reports whether there is a process of this ID.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err == nil {
		_ = p.Release()
	}
	return err == nil
}
