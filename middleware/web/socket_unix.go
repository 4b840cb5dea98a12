//go:build unix

package web

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// ListenUnix listens on a Unix socket, a file that has this mode from its first moment and
// is removed when the listener is closed. A socket that a proxy of ours has left there is
// replaced; nothing else is.
func ListenUnix(path string, mode fs.FileMode) (net.Listener, error) {
	if err := checkSocketPath(path); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	// The umask is that of the whole process, in which nothing else makes files yet.
	before := syscall.Umask(0o777 &^ int(mode))
	defer syscall.Umask(before)
	return net.Listen("unix", path)
}

// dialTime is how long a socket may take to say whether somebody listens.
const dialTime = 2 * time.Second

// removeStale removes a socket of this user's on which nobody listens.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s: it exists, and is not a socket", path)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: it is a socket of another user", path)
	}
	c, err := net.DialTimeout("unix", path, dialTime)
	if err == nil {
		c.Close()
		return fmt.Errorf("%s: another program listens there already", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s: cannot tell whether another program listens there: %w", path, err)
	}
	return os.Remove(path)
}
