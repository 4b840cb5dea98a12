// Package process starts the command of a server, with pipes to it, and ends it with
// all that it has started.
//
//	proxy ◄── stdin, stdout, stderr ──► server ─► its children
//	  └── started, ended ──► supervisor ──┘
//
// On Unix a supervisor stands between the proxy and each server: this binary once more.
// It reads and writes nothing of what the two say. It is told to end the server, or sees
// that the proxy has ended in whatever way, and then ends all below it. Windows has a
// job for that, see [Adopt].
//
// A server runs in a process group of its own. Its stderr goes to a log, and what is
// still in its stdout when it ends can be read.
package process

import (
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"rlmproxy/middleware/rpc"
)

// How long a server may take to end by itself: once its stdin is closed, as the
// MCP specification asks, and again once it was told to terminate. Servers that
// end with their stdin take 20 ms, through npx 150; those of Node that have a
// timer or wait for an answer do not end before it, whatever the time.
const (
	closeGrace = 500 * time.Millisecond
	termGrace  = 1500 * time.Millisecond
)

// drainTime is how long what a server wrote can be read after its end.
const drainTime = 2 * time.Second

// Command says how to start a server that speaks over its stdin and stdout.
type Command struct {
	Name string // of the server, in its entry
	Path string
	Args []string
	Dir  string // empty: the proxy's

	// Env are variables as "KEY=value". Inherit names those of the proxy's own
	// environment that the server gets beside the usual ones, or has globs for them.
	Env, Inherit []string
}

// A Process is a running server with everything that it started.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	family *family
	stderr *os.File
	exited chan struct{} // closed when the server's own process has ended
	how    string        // it ended; read after exited
	logs   sync.WaitGroup
	logged chan struct{} // closed when all of stderr has been read
	tail   tail          // of stderr
	mask   func(text string) string
}

// Start runs c in a process group of its own, its stderr logged line by line.
func (c Command) Start(logger *slog.Logger) (*Process, error) {
	program, path, err := c.find(logger)
	if err != nil {
		return nil, err
	}
	if err := checkDir(c.Dir); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, c.Args...)
	cmd.Dir = c.Dir
	env, heldBack := inherited(os.Environ(), c.Inherit)
	cmd.Env = append(append(env, "PATH="+path), c.Env...)
	if len(heldBack) > 0 {
		logger.Debug("variables that the server does not get", "names", heldBack)
	}

	f, pipes, err := start(cmd)
	if err != nil {
		return nil, err
	}
	rpc.Widen(pipes.stdout)
	p := &Process{Stdin: pipes.stdin, Stdout: pipes.stdout, family: f, stderr: pipes.stderr, exited: make(chan struct{}),
		logged: make(chan struct{}), mask: masker(os.Environ(), c.Env, c.Inherit)}
	m := &missing{heldBack: heldBack, logger: logger}
	m.begin(c.Name)
	p.logs.Go(func() {
		defer close(p.logged)
		logLines(p.stderr, logger, m, &p.tail)
	})
	go func() {
		p.how = f.wait()
		close(p.exited)
		// Whatever the server started holds its ends of the pipes open. It
		// goes with the server, or the reader would wait for it for ever.
		f.end()
		// The pipes end by themselves behind what is still in them, unless a process
		// that could not be ended holds them open.
		time.AfterFunc(drainTime, p.closePipes)
	}()
	return p, nil
}

// Close ends the server and all that it started: stdin is closed first, then
// all are told to terminate, then killed. A server that may not be signalled,
// having become another user's, is left alone.
func (p *Process) Close() {
	p.Stdin.Close()
	p.ended(closeGrace)
	p.family.end()
	if !p.ended(termGrace) {
		p.closePipes()
	}
	p.logs.Wait()
}

// closePipes ends the reading of what the server writes.
func (p *Process) closePipes() {
	p.Stdout.Close()
	p.stderr.Close()
}

// ended waits at most d for the server's own process.
func (p *Process) ended(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// moment is how long the proxy waits for a process's last output and its exit status.
const moment = time.Second

// Exit describes how the process ended, or is empty while it runs.
func (p *Process) Exit() string {
	if !p.ended(moment) {
		return ""
	}
	return p.how
}

// Stderr returns what the process last wrote to stderr since then, 32 KiB at most, each line with
// its end. Values of variables that it was given are replaced by their names.
func (p *Process) Stderr(since time.Time) string {
	select {
	case <-p.exited:
		select {
		case <-p.logged:
		case <-time.After(moment):
		}
	default:
	}
	return p.mask(p.tail.since(since))
}
