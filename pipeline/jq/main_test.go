package jq

import (
	"os"
	"os/exec"
	"testing"

	"rlmproxy/pipeline/worker"
)

// workerVar makes the test binary a worker.
const workerVar = "JQ_TEST_WORKER"

func TestMain(m *testing.M) {
	switch os.Getenv(workerVar) {
	case "":
		os.Exit(m.Run())
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
func newPool(tb testing.TB, opts worker.Options) *Pool {
	tb.Helper()
	if opts.Command == nil {
		opts.Command = testWorker("worker")
	}
	p := NewPool(opts)
	tb.Cleanup(p.Close)
	return p
}
