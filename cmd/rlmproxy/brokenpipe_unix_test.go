//go:build unix

package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// hanging starts the proxy before a server that outlasts the end of its stdin, and
// returns the server's pid once it runs.
func hanging(t *testing.T, proxy func(self, dir string) *exec.Cmd) (server string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hang"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := proxy(self, dir)
	cmd.Env = append(os.Environ(), "RLMPROXY_TEST_RUN=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	eventually(t, "the server does not start", func() bool {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "hang" {
				server = e.Name()
			}
		}
		return server != ""
	})
	t.Cleanup(func() {
		if pid, err := strconv.Atoi(server); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return server
}

// TestNobodyReadsTheLog: the end of whoever reads stderr ends nothing.
func TestNobodyReadsTheLog(t *testing.T) {
	var proxy *exec.Cmd
	var stderr io.ReadCloser
	server := hanging(t, func(self, dir string) *exec.Cmd {
		proxy = exec.Command(self, "wrap", "--http", "127.0.0.1:0", "--", self, "counter", dir)
		var err error
		if stderr, err = proxy.StderrPipe(); err != nil {
			t.Fatal(err)
		}
		return proxy
	})
	address := ""
	for lines := bufio.NewScanner(stderr); address == "" && lines.Scan(); {
		_, rest, _ := strings.Cut(lines.Text(), "listening on ")
		address, _, _ = strings.Cut(rest, "/mcp")
	}
	stderr.Close()
	for range 3 { // each is logged
		r, err := http.NewRequest(http.MethodGet, address+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "other.example.com"
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	interrupt(t, proxy.Process)
	if err := proxy.Wait(); err != nil {
		t.Error(err)
	}
	if alive(server) {
		t.Error("the server outlives the proxy")
	}
}

// TestNobodyReadsAnswers: a host that is gone ends the proxy in order, if an answer
// finds that out.
func TestNobodyReadsAnswers(t *testing.T) {
	var proxy *exec.Cmd
	var stdin io.WriteCloser
	server := hanging(t, func(self, dir string) *exec.Cmd {
		proxy = exec.Command(self, "wrap", "--", self, "counter", dir)
		in, err := proxy.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := proxy.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		out.Close()
		stdin = in
		return proxy
	})
	if _, err := io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	err := proxy.Wait()
	if alive(server) {
		t.Errorf("the server outlives the proxy: %v", err)
	}
}
