package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// workerVar makes the test binary a worker.
const workerVar = "SCRIPT_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(workerVar) != "" {
		os.Exit(Worker(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// newPool is a pool of processes of the test binary, which end with tb.
func newPool(tb testing.TB, opts Options) *Pool {
	tb.Helper()
	opts.Worker.Command = func() (*exec.Cmd, error) {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{workerVar + "=1", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}
		return cmd, nil
	}
	p := NewPool(opts)
	tb.Cleanup(p.Close)
	return p
}

// A fakeHost answers as its functions do, and counts.
type fakeHost struct {
	answer func(ctx context.Context, function string, args []json.RawMessage) (json.RawMessage, error)

	mu    sync.Mutex // guards the field below
	calls int
}

func (h *fakeHost) Call(ctx context.Context, function string, args []json.RawMessage) (json.RawMessage, error) {
	h.mu.Lock()
	h.calls++
	h.mu.Unlock()
	return h.answer(ctx, function, args)
}

// echo answers call(x) with x.
var echo = &fakeHost{answer: func(_ context.Context, _ string, args []json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 {
		return nil, nil
	}
	return args[0], nil
}}

// ran is what becomes of a program, as a text: its value, or its error; and what it printed.
func ran(t *testing.T, p *Pool, source string, h Host) (value, printed string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := p.Run(ctx, Program{Agent: "a", Source: source, Arguments: json.RawMessage(`{"n":3,"id":9007199254740993}`), State: json.RawMessage(`{"seen":1}`)}, h)
	return string(out.Value), string(out.Printed), err
}

func code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}
