package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes us the parent of every descendant whose parent has ended,
// whatever its group and session, and has the system kill what attr starts when we end.
func adoptOrphans(attr *syscall.SysProcAttr) {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // since Linux 3.4
	attr.Pdeathsig = syscall.SIGKILL
}

// gone reports whether nothing is left: who has no child has no descendant, since
// orphans become children.
func (b *tree) gone() bool {
	select {
	case <-b.none:
		return true
	default:
		return false
	}
}

// signal signals all below us.
func (b *tree) signal(sig syscall.Signal) {
	_ = syscall.Kill(-b.first, sig) // should /proc not be there
	for _, pid := range descendants(os.Getpid()) {
		_ = syscall.Kill(pid, sig) // it may have ended
	}
}

// descendants are all processes below pid.
func descendants(pid int) []int {
	children := map[int][]int{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent …", in which the name may be anything
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], child)
	}
	var all []int
	for next := children[pid]; len(next) > 0; {
		child := next[0]
		all = append(all, child)
		next = append(next[1:], children[child]...)
	}
	return all
}
