// Package replicas runs several processes of the program with one store, and a balancer
// before them, for tests and benchmarks.
//
//	client ─► Balancer ─► Replica 0, 1, 2 … ─► servers of the configuration
//	                        └──────┴─────┴──► Redis of fleettest
//
// Nothing in it knows MCP. Who sends requests through the balancer may name each in the
// header X-Call, and ask afterwards at which replicas it was.
package replicas

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// upTime bounds how long a replica may take until it is ready, endTime until it has ended.
const upTime, endTime = time.Minute, 40 * time.Second

// Main is a TestMain that builds the program into binary, and removes it when the tests have
// run. It returns the exit code.
func Main(m *testing.M, binary *string) int {
	dir, err := os.MkdirTemp("", "rlmproxy-test")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if *binary, err = Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Build builds the program into dir and returns its path.
func Build(dir string) (string, error) {
	path := filepath.Join(dir, "rlmproxy")
	out, err := exec.Command("go", "build", "-o", path, "rlmproxy/cmd/rlmproxy").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// A Replica is one process of the program that serves over HTTP. It is started, killed and
// started again by one goroutine.
type Replica struct {
	tb   testing.TB
	dir  string
	env  []string
	args []string // the program first

	cmd    *exec.Cmd // nil: it does not run
	ended  chan error
	starts int

	mu   sync.Mutex // guards the fields below
	out  bytes.Buffer
	url  string        // of its endpoint; "" until it says so
	says chan struct{} // closed with the first url of a start
}

// New returns a replica that has not been started. Args are those of the program, serve or
// wrap first, without --http; env is added to the environment, of which RLMPROXY_… is left out. It ends with
// the test, and what it logged is shown if that fails.
func New(tb testing.TB, binary string, env []string, args ...string) *Replica {
	tb.Helper()
	r := &Replica{tb: tb, dir: tb.TempDir(), args: append([]string{binary}, args...)}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "RLMPROXY_") {
			r.env = append(r.env, kv)
		}
	}
	r.env = append(r.env, env...)
	tb.Cleanup(func() {
		r.Kill()
		if tb.Failed() {
			tb.Logf("what a replica logged in %d starts, other than of calls:\n%s", r.starts, tail(calls.ReplaceAllString(r.Log(), ""), 6000))
		}
	})
	return r
}

var calls = regexp.MustCompile(`(?m)^.*level=INFO msg=call .*\n`)

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

var listening = regexp.MustCompile(`listening on (http://[^\s"]+)`)

// Write takes what the process logs.
func (r *Replica) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Write(p)
	if r.url == "" {
		if m := listening.FindSubmatch(p); m != nil {
			r.url = string(m[1])
			close(r.says)
		}
	}
	return len(p), nil
}

// Log is what it has logged since its first start.
func (r *Replica) Log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// URL is that of its endpoint, another after each start.
func (r *Replica) URL() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.url
}

// Pid is that of its process, or 0.
func (r *Replica) Pid() int {
	if r.cmd == nil {
		return 0
	}
	return r.cmd.Process.Pid
}

// Start starts it and returns when it is ready. It knows nothing of an earlier start.
func (r *Replica) Start() {
	r.tb.Helper()
	r.StartOnly()
	r.Ready()
}

// Ready returns when it is ready.
func (r *Replica) Ready() {
	r.tb.Helper()
	for since := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(strings.TrimSuffix(r.URL(), "/mcp") + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Since(since) > upTime {
			r.tb.Fatalf("a replica is not ready: %v\n%s", err, tail(r.Log(), 6000))
		}
	}
}

// StartOnly starts it and returns when it listens.
func (r *Replica) StartOnly() {
	r.tb.Helper()
	r.starts++
	says := make(chan struct{})
	r.mu.Lock()
	r.url, r.says = "", says
	r.mu.Unlock()
	r.cmd = exec.Command(r.args[0], append([]string{r.args[1], "--http", "127.0.0.1:0"}, r.args[2:]...)...)
	r.cmd.Env = append(r.env[:len(r.env):len(r.env)], "RLMPROXY_STATE_DIR="+filepath.Join(r.dir, fmt.Sprint(r.starts)))
	r.cmd.Stderr = r
	if err := r.cmd.Start(); err != nil {
		r.tb.Fatal(err)
	}
	ended := make(chan error, 1)
	r.ended = ended
	go func(cmd *exec.Cmd) { ended <- cmd.Wait() }(r.cmd)
	select {
	case <-says:
	case err := <-ended:
		ended <- err
		r.tb.Fatalf("a replica ended: %v\n%s", err, tail(r.Log(), 6000))
	case <-time.After(upTime):
		r.tb.Fatalf("a replica does not listen\n%s", tail(r.Log(), 6000))
	}
}

// Kill ends it as kill -9 does, if it runs, and returns when it has ended.
func (r *Replica) Kill() {
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		<-r.ended
		r.cmd = nil
	}
}

// Stop ends it by SIGTERM and returns how long that took. One that ends with another code
// than 0 fails the test.
func (r *Replica) Stop() time.Duration {
	r.tb.Helper()
	begun := time.Now()
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-r.ended:
		if err != nil {
			r.tb.Errorf("after SIGTERM: %v\n%s", err, tail(r.Log(), 6000))
		}
		r.cmd = nil
	case <-time.After(endTime):
		r.tb.Errorf("it does not end after SIGTERM\n%s", tail(r.Log(), 6000))
		r.Kill()
	}
	return time.Since(begun)
}
