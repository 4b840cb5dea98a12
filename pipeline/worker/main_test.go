package worker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/worker"
)

// workerVar makes the test binary a worker.
const workerVar = "WORKER_TEST_ROLE"

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
		os.Exit(jq.Worker(os.Stdin, os.Stdout))
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
func newPool(tb testing.TB, opts worker.Options) *jq.Pool {
	tb.Helper()
	if opts.Command == nil {
		opts.Command = testWorker("worker")
	}
	p := jq.NewPool(opts)
	tb.Cleanup(p.Close)
	return p
}

func runPool(t *testing.T, p *jq.Pool, q jq.Query) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out, err := p.Run(ctx, q)
	if err != nil {
		t.Errorf("%.80s: %v", q.Program, err)
	}
	return string(out.Data)
}

func code(err error) string {
	var e *jq.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

func query(agent, key string, kind jq.Kind, data []byte, program string) jq.Query {
	return jq.Query{Agent: agent, Key: key, Kind: kind, Data: data, Program: program}
}
