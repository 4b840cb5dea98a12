package web

import (
	"fmt"
	"net"
	"syscall"
)

// peerName names the user whose program has connected to a Unix socket, or is "".
func peerName(c net.Conn) (name string) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return ""
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return ""
	}
	_ = raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			name = fmt.Sprintf("uid:%d", cred.Uid)
		}
	})
	return name
}
