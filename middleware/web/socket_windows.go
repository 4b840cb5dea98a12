package web

import (
	"errors"
	"io/fs"
	"net"
)

// ListenUnix refuses: files have no such modes here, so the socket would be anybody's.
func ListenUnix(string, fs.FileMode) (net.Listener, error) {
	return nil, errors.New("there are no Unix sockets with permissions on Windows: use a port")
}
