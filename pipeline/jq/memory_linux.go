//go:build linux && (amd64 || arm64) && !race

package jq

import "syscall"

// reserved is what the Go runtime reserves of addresses without using them,
// about 1.4 GiB, and the stacks of its threads.
const reserved = 2 << 30

// limitAddresses has the system refuse what the watch would be too late for.
// Without it there is still the watch.
func limitAddresses(maxBytes uint64) {
	n := maxBytes + reserved
	_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: n, Max: n})
}
