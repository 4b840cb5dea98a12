package jq

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// killGrace is how long a program may take to end when told, before its worker
// is killed. Options has it for tests that cannot know how busy the machine is.
const killGrace = 100 * time.Millisecond

// A process is a running worker. One query at a time has it.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	in     *bufio.Reader // of stdout
	stderr logLines
	max    int64
	grace  time.Duration // see killGrace

	exited chan struct{} // closed when it has ended and was waited for
	killed atomic.Bool   // by us

	send  sync.Mutex // one frame at a time goes to stdin
	seq   uint32
	holds map[string]bool // keys that it has, as far as we know
	loads atomic.Int64    // documents sent
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
	w := &process{cmd: cmd, max: opts.MaxBytes, grace: opts.grace, exited: make(chan struct{}), holds: map[string]bool{}}
	w.stderr.logger = opts.Logger
	cmd.Stderr = &w.stderr
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = inR, outW
	err = cmd.Start()
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, err
	}
	w.stdin, w.stdout, w.in = inW, outR, bufio.NewReaderSize(outR, 64<<10)
	go func() {
		_ = cmd.Wait() // ProcessState has it
		w.stdin.Close()
		w.stderr.flush()
		close(w.exited)
	}()
	_ = writeFrame(w.stdin, frameHello, binary.BigEndian.AppendUint64(nil, uint64(opts.MaxBytes))) // the query will see
	return w, nil
}

// kill ends the worker, and whatever waits for its answer.
func (w *process) kill() {
	w.killed.Store(true)
	_ = w.cmd.Process.Kill() // it may have ended
	// It may take a while to give its memory back.
	w.stdout.Close()
}

// end lets an idle worker end by itself.
func (w *process) end() {
	w.send.Lock()
	defer w.send.Unlock()
	w.stdin.Close()
}

// A deathError is the end of a worker under a query.
type deathError struct {
	err error
	why *Error // if the program is the reason
}

func (e *deathError) Error() string { return e.err.Error() }

// errProtocol is an answer that no worker gives.
var errProtocol = errors.New("jq: the worker's answer makes no sense")

// errTooMuch is what a worker says that reached its ceiling.
var errTooMuch = errors.New("jq: the worker has no memory left")

// exchange runs one query. After an error that is a *deathError the process is
// of no use.
func (w *process) exchange(ctx context.Context, key string, q Query) (Output, error) {
	w.seq++
	done := w.watch(ctx, w.seq)
	out, err := w.query(ctx, number(w.seq), key, q)
	done()
	var e *Error
	switch {
	case err == nil, errors.As(err, &e), errors.Is(err, errStopped):
	default:
		w.kill()
		if ctx.Err() == nil {
			return Output{}, w.death(err)
		}
		return Output{}, &deathError{err: err}
	}
	if errors.Is(err, errStopped) {
		return Output{}, ended(ctx.Err())
	}
	return out, err
}

var errStopped = errors.New("jq: stopped")

// watch tells the worker that ctx has ended, and kills it if that does not
// help, until done is called.
func (w *process) watch(ctx context.Context, seq uint32) (done func()) {
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		// If another frame is on its way, ask sends this one behind it, unless
		// the worker does not read.
		if w.send.TryLock() {
			_ = writeFrame(w.stdin, frameCancel, number(seq))
			w.send.Unlock()
		}
		t := time.NewTimer(w.grace)
		defer t.Stop()
		select {
		case <-over:
		case <-t.C:
			w.kill()
		}
	}()
	return func() { close(over); <-gone }
}

// query sends the program, and the document where the worker lacks it.
func (w *process) query(ctx context.Context, seq []byte, key string, q Query) (Output, error) {
	for tries := 0; tries < 3; tries++ {
		if !w.holds[key] {
			answer, err := w.ask(ctx, frameLoad, seq, []byte{byte(q.Kind)}, keyed(key), q.Data)
			if err != nil {
				return Output{}, err
			}
			if answer.kind != frameLoaded {
				return Output{}, errProtocol
			}
			if len(w.holds) >= maxHolds {
				clear(w.holds)
			}
			w.holds[key] = true
			w.loads.Add(1)
		}
		answer, err := w.ask(ctx, frameRun, seq, keyed(key), []byte(q.Program))
		if key == "" {
			delete(w.holds, "")
		}
		if err != nil {
			return Output{}, err
		}
		switch answer.kind {
		case frameOutput:
			b := reader{answer.body, true}
			n := b.uint32()
			if !b.ok || n > maxOutputs {
				return Output{}, errProtocol
			}
			return Output{Data: b.b, N: int(n)}, nil
		case frameMissing:
			delete(w.holds, key)
		default:
			return Output{}, errProtocol
		}
	}
	return Output{}, errProtocol
}

// maxHolds bounds what we believe about a worker; it drops trees unasked.
const maxHolds = 1000

// ask sends a frame, which begins with seq, and waits for its answer.
func (w *process) ask(ctx context.Context, kind byte, seq []byte, parts ...[]byte) (frame, error) {
	if ctx.Err() != nil {
		return frame{}, errStopped
	}
	w.send.Lock()
	err := writeFrame(w.stdin, kind, append([][]byte{seq}, parts...)...)
	w.send.Unlock()
	if err != nil {
		return frame{}, err
	}
	if ctx.Err() != nil { // watch may have found stdin in use
		w.send.Lock()
		_ = writeFrame(w.stdin, frameCancel, seq) // the answer will tell
		w.send.Unlock()
	}
	answer, err := readFrame(w.in, maxReply)
	if err != nil {
		return frame{}, err
	}
	switch answer.kind {
	case frameCancelled:
		if ctx.Err() == nil {
			return frame{}, errProtocol
		}
		return frame{}, errStopped
	case frameTooMuch:
		return frame{}, errTooMuch
	case frameError:
		var f failure
		if err := json.Unmarshal(answer.body, &f); err != nil || f.Code == "" {
			return frame{}, errProtocol
		}
		return frame{}, &Error{f.Code, f.Text, f.Hint, nil}
	}
	return answer, nil
}

// forget has the worker drop the trees of an agent. It must be idle.
func (w *process) forget(agent string) {
	w.send.Lock()
	defer w.send.Unlock()
	for key := range w.holds {
		if strings.HasPrefix(key, agent+"\x00") {
			delete(w.holds, key)
			_ = writeFrame(w.stdin, frameDrop, []byte(key)) // the next query will see
		}
	}
}

// death waits for the end of the process and tells why it came, as far as the
// program can be the reason.
func (w *process) death(cause error) *deathError {
	memory := &Error{Code: LimitMemory, Text: fmt.Sprintf("jq: the program used more than %d MiB of memory", w.max>>20),
		Hint: "select fewer records and fields first, and put out less"}
	switch {
	case errors.Is(cause, errTooMuch):
		return &deathError{cause, memory}
	case errors.Is(cause, errProtocol):
		return &deathError{cause, nil}
	}
	// kill was for one that lives on; what it wrote and how it ended count.
	<-w.exited
	said := w.stderr.begin()
	d := &deathError{err: fmt.Errorf("jq: worker ended: %v: %w", w.cmd.ProcessState, cause)}
	switch {
	case bytes.Contains(said, []byte("stack exceeds")), bytes.Contains(said, []byte("stack overflow")):
		d.why = &Error{Code: LimitMemory, Text: "jq: the program nests or recurses too deep for its stack",
			Hint: "build flat values; fold with reduce over numbers, or use map, group_by, add"}
	case w.cmd.ProcessState.ExitCode() == exitMemory, bytes.Contains(said, []byte("out of memory")), bytes.Contains(said, []byte("cannot allocate memory")), bytes.Contains(said, []byte("create new OS thread")):
		d.why = memory
	}
	return d
}

// A logLines logs what a worker writes to stderr, line by line, and keeps the
// beginning, where the reason of a crash stands.
type logLines struct {
	logger *slog.Logger

	mu   sync.Mutex // guards the fields below
	head []byte
	line []byte
	n    int // lines logged
}

const (
	headBytes = 4096
	maxLines  = 100 // of one worker are logged
)

func (t *logLines) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head = append(t.head, p[:min(len(p), headBytes-len(t.head))]...)
	for line := range bytes.Lines(p) {
		t.line = append(t.line, line[:min(len(line), max(headBytes-len(t.line), 0))]...)
		if line[len(line)-1] == '\n' {
			t.log()
		}
	}
	return len(p), nil
}

// log logs the line. t.mu must be held.
func (t *logLines) log() {
	if s := bytes.TrimSpace(t.line); len(s) > 0 && t.n < maxLines {
		t.n++
		t.logger.Warn("jq worker", "stderr", string(bytes.ToValidUTF8(s, []byte("\uFFFD"))))
	}
	t.line = t.line[:0]
}

func (t *logLines) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log()
}

func (t *logLines) begin() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.head)
}
