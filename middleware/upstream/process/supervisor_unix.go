//go:build unix

package process

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// superviseArg is the argument by which this binary is a supervisor.
const superviseArg = "supervise-server"

// Whatever program this package is part of can be a supervisor: tests start servers, too.
func init() {
	if len(os.Args) == 2 && os.Args[1] == superviseArg {
		syscall.Exit(supervise()) // os.Exit of a program that is built with -race takes a second
	}
}

// The files of a supervisor, besides stderr, as [start] hands them over.
const (
	fileStdin = 3 + iota
	fileStdout
	fileLife
	fileReports
)

// supervise is the life of a supervisor: it starts the server of its order, and ends
// when nothing is left below it.
func supervise() int {
	for fd := fileStdin; fd <= fileReports; fd++ {
		syscall.CloseOnExec(fd) // none is the server's, but as its stdin and stdout
	}
	stdin, stdout := os.NewFile(fileStdin, "stdin"), os.NewFile(fileStdout, "stdout")
	life, reports := os.NewFile(fileLife, "life"), json.NewEncoder(os.NewFile(fileReports, "reports"))
	var o order
	if err := json.NewDecoder(life).Decode(&o); err != nil {
		fmt.Fprintln(os.Stderr, "rlmproxy:", superviseArg, "is for the proxy itself")
		return 2
	}
	// Who asks a supervisor to end means the server.
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	b, err := startTree(o.Path, o.Args, &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   append(o.Env, starterEnv+"="+strconv.Itoa(os.Getpid())+" "+strconv.Itoa(os.Getppid())),
		Files: []uintptr{fileStdin, fileStdout, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		_ = reports.Encode(report{Error: err.Error()})
		return 1
	}
	stdin.Close()
	stdout.Close()
	_ = reports.Encode(report{PID: b.first}) // the proxy's end is seen below
	proxyGone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, life)
		close(proxyGone)
	}()
	select {
	case status := <-b.ended:
		_ = reports.Encode(report{Exit: describe(status)})
		b.finish()
		return 0
	case <-proxyGone:
	case <-asked:
	}
	b.finish()
	select {
	case status := <-b.ended:
		_ = reports.Encode(report{Exit: describe(status)})
	default: // it cannot be ended
	}
	return 0
}

// A tree is the process tree below us: a process that we started and all below it.
type tree struct {
	first int                     // that process
	ended chan syscall.WaitStatus // how it has ended; capacity 1
	none  chan struct{}           // closed when no child of ours is left
}

// startTree starts a process, which ends when we end, and waits for it and for whatever
// becomes our child when its own parent ends.
func startTree(path string, args []string, attr *syscall.ProcAttr) (*tree, error) {
	// The system sends the signal of our end when this thread ends: the main thread, if
	// this is called from main or init, which lasts.
	runtime.LockOSThread()
	adoptOrphans(attr.Sys)
	pid, err := syscall.ForkExec(path, args, attr)
	if err != nil {
		return nil, &os.PathError{Op: "fork/exec", Path: path, Err: err}
	}
	b := &tree{pid, make(chan syscall.WaitStatus, 1), make(chan struct{})}
	go b.reap()
	return b, nil
}

// reap waits for all children.
func (b *tree) reap() {
	defer close(b.none)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // there is none
			return
		case pid == b.first && (status.Exited() || status.Signaled()):
			b.ended <- status
		}
	}
}

// finish ends all that is left, gently and then for sure, and returns when nothing is,
// or when what is left cannot be ended.
func (b *tree) finish() {
	if b.gone() {
		return
	}
	b.signal(syscall.SIGTERM)
	if b.goneWithin(termGrace, func() {}) {
		return
	}
	// What is killed may have started something just before.
	b.goneWithin(termGrace, func() { b.signal(syscall.SIGKILL) })
}

// goneWithin looks for at most d whether nothing is left, and calls again before each
// look.
func (b *tree) goneWithin(d time.Duration, again func()) bool {
	deadline := time.Now().Add(d)
	for pause := 2 * time.Millisecond; time.Now().Before(deadline); pause = min(2*pause, 20*time.Millisecond) {
		again()
		if b.gone() {
			return true
		}
		time.Sleep(pause)
	}
	return false
}

// describe says how a process has ended, in the words of package os.
func describe(s syscall.WaitStatus) string {
	if s.Signaled() {
		core := ""
		if s.CoreDump() {
			core = " (core dumped)"
		}
		return "signal: " + s.Signal().String() + core
	}
	return "exit status " + strconv.Itoa(s.ExitStatus())
}

// starterEnv is a variable of the environment of servers: the pid of their supervisor,
// and of the proxy that it works for.
const starterEnv = "_RLMPROXY_STARTER"

// Starter is the process that started us: our parent, or the proxy that had a
// supervisor do it.
func Starter() int {
	parent := os.Getppid()
	supervisor, proxy, _ := strings.Cut(os.Getenv(starterEnv), " ")
	if pid, err := strconv.Atoi(proxy); err == nil && supervisor == strconv.Itoa(parent) {
		return pid
	}
	return parent
}
