package wire

import (
	"os"
	"syscall"
	"unsafe"
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

// Gone reports whether nobody reads what is written to f any more, as far as the
// system tells: f is a pipe or a socket whose other end is closed.
func Gone(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}
	const pollErr, pollHup = 0x8, 0x10 // poll(2)
	gone := false
	_ = conn.Control(func(fd uintptr) {
		at := struct {
			fd              int32
			events, revents int16
		}{fd: int32(fd)}
		var now syscall.Timespec
		n, _, _ := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&at)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		gone = n == 1 && at.revents&(pollErr|pollHup) != 0
	})
	return gone
}
