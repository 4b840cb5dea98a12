package process

import (
	"os"
	"os/signal"
	"syscall"
)

// Adopt makes us answer for all that is started below us, and is called first of all. As
// the first process of a container nobody else waits for orphans: then the program runs
// once more below us, done is true, and exit is its exit code.
func Adopt() (exit int, done bool) {
	if os.Getpid() != 1 {
		return 0, false
	}
	self, err := ownBinary()
	if err != nil {
		return 0, false
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	b, err := startTree(self, os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{}})
	if err != nil {
		return 0, false
	}
	// Who reads what the program writes sees its end, and likewise who writes.
	os.Stdin.Close()
	os.Stdout.Close()
	for {
		select {
		case s := <-signals:
			_ = syscall.Kill(b.first, s.(syscall.Signal)) // it may have ended
		case status := <-b.ended:
			b.finish()
			if status.Signaled() {
				return 128 + int(status.Signal()), true // as shells have it
			}
			return status.ExitStatus(), true
		}
	}
}
