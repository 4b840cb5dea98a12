//go:build unix

package cache

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether a file belongs to the user that this process runs as.
func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
