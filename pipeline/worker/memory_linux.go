//go:build linux && (amd64 || arm64) && !race

package worker

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

const (
	// reserved is what the Go runtime reserves of addresses without using them,
	// and the stacks of its threads: about 1.4 GiB, taken for more where the
	// system does not say.
	reserved = 2 << 30
	// holes is what the heap may have of addresses that it does not use.
	holes = 128 << 20
)

// limitAddresses has the system refuse what the watch would be too late for:
// while a large string is copied, nothing can stop the task to look. (The
// system does not count what Go first reserves, then maps, as RLIMIT_DATA.)
func limitAddresses(maxBytes uint64) {
	n := maxBytes + reserved
	if used := addresses(); used > 0 {
		n = min(n, used+maxBytes+holes)
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: n, Max: n})
}

// addresses is how many bytes of addresses the process has, zero if nobody
// says.
func addresses() (n uint64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	if _, rest, ok := bytes.Cut(status, []byte("VmSize:")); ok {
		_, _ = fmt.Sscan(string(rest), &n)
	}
	return n << 10
}
