//go:build unix

package rpc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Gone reports whether nobody reads what is written to f any more: f is a pipe or a
// socket whose other end is closed. Known is false where the system does not tell.
func Gone(f any) (gone, known bool) {
	file, ok := f.(*os.File)
	if !ok {
		return false, false
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return false, false
	}
	err = conn.Control(func(fd uintptr) {
		at := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(at, 0)
		for errors.Is(err, unix.EINTR) { // by the scheduler of our goroutines
			n, err = unix.Poll(at, 0)
		}
		gone, known = n > 0 && at[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0, err == nil
	})
	return gone, known && err == nil
}
