package jq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"

	"rlmproxy/pipeline/doc"
)

// A process is a running worker. One query at a time has it.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	wire   *wire
	stderr beginning
	max    int64 // the ceiling of its memory

	exited chan struct{} // closed when it has ended and was waited for
	killed atomic.Bool   // by us
	holds  map[treeKey]bool
}

// ownCommand is this binary as a worker. On Linux it is the one that runs, even
// if another has taken its place on disk.
func ownCommand() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "jq-worker")
	if runtime.GOOS == "linux" {
		cmd.Path = "/proc/self/exe"
	}
	return cmd, nil
}

// start starts a worker in a process group of its own, so that a signal from
// the terminal is ours to handle. Its environment is empty, for ours may hold
// secrets, unless the command brings one.
func start(opts Options) (*process, error) {
	cmd, err := opts.Command()
	if err != nil {
		return nil, err
	}
	if cmd.Env == nil {
		// When a program overflows the stack, one line says all.
		cmd.Env = []string{"GOTRACEBACK=none"}
	}
	isolate(cmd)
	// Not cmd.StdoutPipe, which is closed when the process ends, read or not.
	theirIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	defer theirOut.Close()
	w := &process{cmd: cmd, stdin: stdin, stdout: stdout, wire: newWire(stdout, stdin), max: opts.MaxBytes, exited: make(chan struct{}), holds: map[treeKey]bool{}}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, &w.stderr
	if err := cmd.Start(); err != nil {
		stdin.Close()
		stdout.Close()
		return nil, err
	}
	opts.Logger.Debug("jq worker started", "pid", cmd.Process.Pid)
	go func() {
		_ = cmd.Wait() // ProcessState has it
		stdin.Close()
		level := slog.LevelDebug
		said := w.stderr.text()
		if len(said) > 0 {
			level = slog.LevelWarn
		}
		opts.Logger.Log(context.Background(), level, "jq worker ended", "pid", cmd.Process.Pid, "state", cmd.ProcessState, "stderr", string(bytes.ToValidUTF8(said, []byte("\uFFFD"))))
		close(w.exited)
	}()
	_ = w.wire.send(settings{opts.MaxBytes, opts.Idle}, nil) // the query will see
	return w, nil
}

func (w *process) hasExited() bool {
	select {
	case <-w.exited:
		return true
	default:
		return false
	}
}

// kill ends the worker, and whatever waits for its answer.
func (w *process) kill() {
	w.killed.Store(true)
	_ = w.cmd.Process.Kill() // it may have ended
	// It may take a while to give its memory back.
	w.stdout.Close()
}

// A deathError is the end of a worker under a query.
type deathError struct {
	err error
	why *Error // if the program is the reason
}

func (e *deathError) Error() string { return e.err.Error() }

// exchange runs one query. If ctx ends first, the worker is killed. After an error
// that is no [*Error] it is of no use either.
func (w *process) exchange(ctx context.Context, q Query) (Output, error) {
	if ctx.Err() != nil {
		return Output{}, ended(ctx.Err())
	}
	stop := context.AfterFunc(ctx, w.kill)
	out, err := w.ask(q)
	if !stop() {
		w.kill() // here too: it may have begun just now
		return Output{}, ended(ctx.Err())
	}
	var e *Error
	if err == nil || errors.As(err, &e) {
		return out, err
	}
	w.kill()
	return Output{}, w.death(err)
}

// ask sends the program, and the document where the worker lacks it.
func (w *process) ask(q Query) (Output, error) {
	key := treeKey{q.Agent, q.Key}
	req := request{Document: key, Program: q.Program}
	var data []byte
	if q.Key == "" || !w.holds[key] {
		req.Load, req.Kind, req.Size, data = true, q.Kind, len(q.Data), q.Data
	}
	if err := w.wire.send(req, data); err != nil {
		return Output{}, err
	}
	var a answer
	if err := w.wire.receive(&a); err != nil {
		return Output{}, err
	}
	out, err := w.wire.data(a.Size, maxOutputBytes)
	if err != nil {
		return Output{}, err
	}
	clear(w.holds)
	for _, key := range a.Holds {
		w.holds[key] = true
	}
	if a.Ends {
		w.kill()
	}
	if a.Failure != nil {
		return Output{}, a.Failure
	}
	return Output{Data: out, N: a.Outputs}, nil
}

// forget has the worker drop the trees of an agent. It must be idle.
func (w *process) forget(agent string) {
	before := len(w.holds)
	maps.DeleteFunc(w.holds, func(key treeKey, _ bool) bool { return key.Agent == agent })
	if len(w.holds) < before {
		_ = w.wire.send(request{Forget: true, Document: treeKey{Agent: agent}}, nil) // the next query will see
	}
}

// death waits for the end of the process and tells why it came, as far as the
// program can be the reason.
func (w *process) death(cause error) *deathError {
	<-w.exited
	d := &deathError{err: fmt.Errorf("jq: worker ended: %v: %w", w.cmd.ProcessState, cause)}
	said := func(words string) bool { return bytes.Contains(w.stderr.text(), []byte(words)) }
	switch {
	case said("stack exceeds"), said("stack overflow"):
		d.why = &Error{Code: doc.LimitMemory, Text: "jq: the program nests or recurses too deeply for its stack",
			Hint: "build flat values; fold with reduce over numbers, or use map, group_by, add"}
	case w.cmd.ProcessState.ExitCode() == exitMemory, said("out of memory"), said("cannot allocate memory"), said("create new OS thread"):
		d.why = memoryError(w.max)
	}
	return d
}

// A beginning keeps the first bytes that are written to it: of what a worker says
// on stderr, those tell why it crashed.
type beginning struct {
	mu   sync.Mutex // guards kept
	kept []byte
}

const beginningBytes = 4096

func (b *beginning) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, p[:min(len(p), beginningBytes-len(b.kept))]...)
	return len(p), nil
}

func (b *beginning) text() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.TrimSpace(b.kept)
}
