//go:build unix

package registrytest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// immediate ends PostgreSQL without a word to its clients.
const immediate = syscall.SIGQUIT

// other is who the server runs as, which refuses to be root: the package's user, else nobody.
// Nil: who we are.
func other() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
}

func asOther(cmd *exec.Cmd) {
	if who := other(); who != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	}
}

// give gives a folder to who the server runs as.
func give(dir string) error {
	who := other()
	if who == nil {
		return nil
	}
	return os.Chown(dir, int(who.Uid), int(who.Gid))
}
