package rpc

import (
	"os"
	"syscall"
)

// pipeBytes is what an unprivileged process may ask for, unless the system's
// pipe-max-size was lowered.
const pipeBytes = 1 << 20

// Widen gives a pipe room for a message of a megabyte, so that neither side waits
// for the other every 64 KiB. It does nothing if f is no pipe, or the system
// refuses.
func Widen(f any) {
	file, ok := f.(*os.File)
	if !ok {
		return
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	const setPipeSize = 1031 // F_SETPIPE_SZ, fcntl(2)
	_ = conn.Control(func(fd uintptr) {
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeBytes)
	})
}
