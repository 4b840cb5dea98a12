package jq

import (
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// workerVar makes the test binary a worker.
const workerVar = "JQ_TEST_WORKER"

func TestMain(m *testing.M) {
	switch os.Getenv(workerVar) {
	case "":
		os.Exit(m.Run())
	case "deaf": // reads nothing, says nothing, lives
		time.Sleep(time.Hour)
	case "liar": // answers with what is no frame
		os.Stdout.WriteString("o\xff\xff\xff\xff and more")
		time.Sleep(time.Hour)
	case "mute": // ends at once
	default:
		os.Exit(Worker(os.Stdin, os.Stdout))
	}
}

// testWorker is a Command that plays role.
func testWorker(role string) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(self)
		// The race detector's exit takes a second, if not told otherwise.
		cmd.Env = []string{workerVar + "=" + role, "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}
		return cmd, nil
	}
}

// newPool is a pool of processes of the test binary, which end with tb.
func newPool(tb testing.TB, opts Options) *Pool {
	tb.Helper()
	if opts.Command == nil {
		opts.Command = testWorker("worker")
	}
	p := NewPool(opts)
	tb.Cleanup(p.Close)
	return p
}

// busy is how often a call waits for a processor, in two processes: on a busy
// machine it may take that many times longer than one timer is late.
const busy = 4

// lateness returns a function that tells by how much timers were late up to now,
// all together: what others on the machine took. It ends with tb.
func lateness(tb testing.TB) func() time.Duration {
	const every = 20 * time.Millisecond
	var mu sync.Mutex
	var late time.Duration
	due := time.Now().Add(every)
	told := func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return late + max(time.Since(due), 0)
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(every)
		for {
			select {
			case <-stop:
				return
			case <-timer.C:
			}
			mu.Lock()
			late += time.Since(due)
			due = time.Now().Add(every)
			mu.Unlock()
			timer.Reset(every)
		}
	}()
	tb.Cleanup(func() { close(stop); <-ended })
	return told
}
