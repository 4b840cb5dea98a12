//go:build unix

package web

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// waiting reports whether a client has connected that has not been accepted yet, if the
// listener can tell.
func waiting(l net.Listener) bool {
	s, ok := l.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	_ = raw.Control(func(fd uintptr) {
		n, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	})
	return n > 0
}
