package web

import (
	"errors"
	"fmt"
	"strings"
)

// SocketPath is the path of a Unix socket where that is what an operator types: unix:/path.
func SocketPath(text string) (path string, ok bool) { return strings.CutPrefix(text, "unix:") }

// maxSocketPath is the longest path that all systems take, in bytes: macOS and the BSDs
// have room for 104 with a zero at the end.
const maxSocketPath = 103

// checkSocketPath refuses what no socket can be at.
func checkSocketPath(path string) error {
	switch {
	case path == "":
		return errors.New("the path of the socket is missing, as in unix:/run/rlmproxy/socket")
	case strings.HasPrefix(path, "@"):
		return errors.New("a socket without a file has no permissions: name a file, as in unix:/run/rlmproxy/socket")
	case len(path) > maxSocketPath:
		return fmt.Errorf("the path of the socket has %d bytes; %d are allowed", len(path), maxSocketPath)
	}
	return nil
}
