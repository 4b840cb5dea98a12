package worker

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
	"time"

	"rlmproxy/pipeline/doc"
)

// A child is a running worker. One task at a time has it.
type child struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	wire   *wire
	stderr beginning
	max    int64 // the ceiling of its memory

	exited chan struct{} // closed when it has ended and was waited for
	killed atomic.Bool   // by us
	asked  atomic.Bool   // the task has asked for something, or said something
	holds  map[Key]bool
}

// ownCommand is this binary as a worker. On Linux it is the one that runs, even
// if another has taken its place on disk.
func ownCommand(role string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, role+"-worker")
	if runtime.GOOS == "linux" {
		cmd.Path = "/proc/self/exe"
	}
	return cmd, nil
}

// start starts a worker in a process group of its own, so that a signal from
// the terminal is ours to handle. Its environment is empty, for ours may hold
// secrets, unless the command brings one.
func start(opts Options) (*child, error) {
	command := opts.Command
	if command == nil {
		command = func() (*exec.Cmd, error) { return ownCommand(opts.Role) }
	}
	cmd, err := command()
	if err != nil {
		return nil, err
	}
	if cmd.Env == nil {
		// When a task overflows the stack, one line says all.
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
	w := &child{cmd: cmd, stdin: stdin, stdout: stdout, wire: newWire(stdout, stdin), max: opts.MaxBytes, exited: make(chan struct{}), holds: map[Key]bool{}}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, &w.stderr
	if err := cmd.Start(); err != nil {
		stdin.Close()
		stdout.Close()
		return nil, err
	}
	opts.Logger.Debug(opts.Role+" worker started", "pid", cmd.Process.Pid)
	go func() {
		_ = cmd.Wait() // ProcessState has it
		stdin.Close()
		level := slog.LevelDebug
		said := w.stderr.text()
		if len(said) > 0 {
			level = slog.LevelWarn
		}
		opts.Logger.Log(context.Background(), level, opts.Role+" worker ended", "pid", cmd.Process.Pid, "state", cmd.ProcessState, "stderr", string(bytes.ToValidUTF8(said, []byte("\uFFFD"))))
		close(w.exited)
	}()
	_ = w.wire.send(settings{opts.MaxBytes, opts.Idle}, nil) // the task will see
	return w, nil
}

func (w *child) hasExited() bool {
	select {
	case <-w.exited:
		return true
	default:
		return false
	}
}

// kill ends the worker, and whatever waits for its answer.
func (w *child) kill() {
	w.killed.Store(true)
	_ = w.cmd.Process.Kill() // it may have ended
	// It may take a while to give its memory back.
	w.stdout.Close()
}

// A deathError is the end of a worker under a task.
type deathError struct {
	err error
	why Reason // if the task is the reason, else zero
}

func (e *deathError) Error() string { return e.err.Error() }

// late is what becomes of an ended ctx: a deadline is why the task was stopped.
func late(err error, why Reason) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &StoppedError{Reason: why, Err: err}
	}
	return err
}

// exchange does one task. If ctx ends first, or the time of the task, the worker is killed.
// After an error that is no [*doc.Error] it is of no use either.
func (w *child) exchange(ctx context.Context, t Task) (Answer, error) {
	w.asked.Store(false)
	if ctx.Err() != nil {
		return Answer{}, late(ctx.Err(), Time)
	}
	stop := context.AfterFunc(ctx, w.kill)
	c := newClock(killAfter(t.Limit), w.kill)
	out, err := w.run(ctx, t, c)
	over := c.stop()
	if !stop() {
		w.kill() // here too: it may have begun just now
		return Answer{}, late(ctx.Err(), Time)
	}
	var failure *doc.Error
	var refused *hostError
	switch {
	case over:
		w.kill()
		return Answer{}, &StoppedError{Reason: Time}
	case err == nil, errors.As(err, &failure) && err == error(failure):
		return out, err
	case errors.As(err, &refused):
		w.kill()
		return Answer{}, refused.error
	}
	w.kill()
	return Answer{}, w.death(err)
}

// killAfter is how much time a task has that was to end after limit.
func killAfter(limit time.Duration) time.Duration {
	if limit == 0 {
		return 0
	}
	return 2*limit + time.Second
}

// A hostError is that of a [Host].
type hostError struct{ error }

// run sends the task, with the data that the worker lacks, and does what it asks for until
// it is done.
func (w *child) run(ctx context.Context, t Task, c *clock) (Answer, error) {
	key := Key{t.Agent, t.Key}
	req := request{Key: key, Head: t.Head, Limit: t.Limit}
	var data []byte
	if t.Key == "" || !w.holds[key] {
		req.Load, req.Size, data = true, len(t.Data), t.Data
	}
	if err := w.wire.send(req, data); err != nil {
		return Answer{}, err
	}
	for {
		var a answer
		if err := w.wire.receive(&a); err != nil {
			return Answer{}, err
		}
		out, err := w.wire.data(a.Size, maxDataBytes)
		if err != nil {
			return Answer{}, err
		}
		switch {
		case a.What == done:
			return w.answered(a, out)
		case t.Host == nil:
			return Answer{}, errors.New("worker: the task has no host to ask")
		}
		w.asked.Store(true)
		if a.What == says {
			t.Host.Tell(out)
			continue
		}
		c.pause()
		out, err = w.ask(ctx, t.Host, out)
		c.renew(killAfter(t.Limit)) // the worker itself knows how much of its time is left
		if err != nil {
			return Answer{}, &hostError{err}
		}
		if err := w.wire.send(request{What: reply, Load: true, Size: len(out)}, out); err != nil {
			return Answer{}, err
		}
	}
}

// ask has the host answer a question, in a ctx that ends with the worker.
func (w *child) ask(ctx context.Context, host Host, question []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-w.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	out, err := host.Ask(ctx, question)
	cancel()
	<-watched
	if err != nil && (w.killed.Load() || w.hasExited()) {
		return nil, nil // the reply that cannot be sent says why
	}
	return out, err
}

// answered takes the last answer to a task.
func (w *child) answered(a answer, data []byte) (Answer, error) {
	clear(w.holds)
	for _, key := range a.Holds {
		w.holds[key] = true
	}
	switch {
	case a.Ends:
		w.kill()
		return Answer{}, &StoppedError{Reason: Memory, MaxBytes: w.max}
	case a.Failure != nil:
		return Answer{}, a.Failure
	}
	return Answer{a.Head, data}, nil
}

// forget has the worker drop what it keeps of an agent. It must be idle.
func (w *child) forget(agent string) {
	before := len(w.holds)
	maps.DeleteFunc(w.holds, func(key Key, _ bool) bool { return key.Agent == agent })
	if len(w.holds) < before {
		_ = w.wire.send(request{What: forget, Key: Key{Agent: agent}}, nil) // the next task will see
	}
}

// death waits for the end of the process and tells why it came, as far as the
// task can be the reason.
func (w *child) death(cause error) *deathError {
	<-w.exited
	d := &deathError{err: fmt.Errorf("worker ended: %v: %w", w.cmd.ProcessState, cause)}
	said := func(words string) bool { return bytes.Contains(w.stderr.text(), []byte(words)) }
	switch {
	case said("stack exceeds"), said("stack overflow"):
		d.why = Stack
	case w.cmd.ProcessState.ExitCode() == exitMemory, said("out of memory"), said("cannot allocate memory"), said("create new OS thread"):
		d.why = Memory
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
