// Package process starts the command of a server, with pipes to it, and ends it with
// all that it has started.
//
// A server runs in a process group of its own. Its stderr goes to a log, and what is
// still in its stdout when it ends can be read.
package process

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
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

	cmd    *exec.Cmd
	stderr *os.File
	exited chan struct{} // closed when the server's own process has ended
	err    error         // how it ended; read after exited
	logs   sync.WaitGroup
	stop   sync.Once
}

// Start runs c in a process group of its own, its stderr logged line by line.
func (c Command) Start(logger *slog.Logger) (*Process, error) {
	path, err := lookPath(c.Path)
	if err != nil {
		logger.Debug("command not found", "PATH", os.Getenv("PATH"))
		return nil, err
	}
	if err := checkDir(c.Dir); err != nil {
		return nil, err
	}
	cmd := exec.Command(path, c.Args...)
	cmd.Dir = c.Dir
	env, heldBack := inherited(os.Environ(), c.Inherit)
	cmd.Env = append(env, c.Env...)
	if len(heldBack) > 0 {
		logger.Debug("variables that are not handed on", "names", heldBack)
	}
	ownGroup(cmd)

	var files []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
			files = append(files, r, w)
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	if err == nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
		err = cmd.Start()
	}
	if err != nil {
		for _, f := range files {
			f.Close()
		}
		return nil, err
	}
	inR.Close()
	outW.Close()
	errW.Close()
	rpc.Widen(outR)

	p := &Process{Stdin: inW, Stdout: outR, cmd: cmd, stderr: errR, exited: make(chan struct{})}
	m := &missing{heldBack: heldBack, logger: logger}
	m.begin(c.Name)
	p.logs.Go(func() { logLines(errR, logger, m) })
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
		// Whatever the server started holds its ends of the pipes open. It
		// goes with the server, or the reader would wait for it for ever.
		p.endGroup()
		// The pipes end by themselves behind what is still in them, unless a process
		// that left the group holds them open.
		time.AfterFunc(drainTime, p.closePipes)
	}()
	return p, nil
}

// endGroup ends what is left of the group, gently and then for sure. It returns
// when nothing is left.
func (p *Process) endGroup() {
	p.stop.Do(func() {
		if p.signalGroup(false) && !p.gone(termGrace) {
			p.signalGroup(true)
			p.gone(termGrace)
		}
	})
}

// gone waits at most d for the whole group to end.
func (p *Process) gone(d time.Duration) bool {
	deadline := time.Now().Add(d)
	for pause := 2 * time.Millisecond; p.groupAlive(); pause = min(2*pause, 20*time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// Close ends the server and all that it started: stdin is closed first, then
// the group is told to terminate, then killed. A server that may not be signalled,
// having become another user's, is left alone.
func (p *Process) Close() {
	p.Stdin.Close()
	p.ended(closeGrace)
	p.endGroup()
	_ = p.cmd.Process.Kill() // if it has left the group
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

// Exit describes how the process ended, or is empty while it runs.
func (p *Process) Exit() string {
	if !p.ended(200 * time.Millisecond) {
		return ""
	}
	if p.err != nil {
		return p.err.Error()
	}
	return "exit status 0"
}

// logLines logs what a server writes to stderr, long lines cut.
func logLines(r io.ReadCloser, logger *slog.Logger, m *missing) {
	defer r.Close()
	br := bufio.NewReaderSize(r, 4096)
	for {
		line, err := br.ReadSlice('\n')
		if s := strings.TrimRight(string(line), "\r\n"); s != "" {
			logger.Info("stderr", "line", strings.ToValidUTF8(s, "\uFFFD"))
			m.read(s)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
