//go:build unix

package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHangup: who closes the terminal leaves no process behind, not one that does
// not mind the end of its stdin either; under nohup the proxy goes on. Servers are
// in groups of their own, which a terminal's end does not reach.
func TestHangup(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Whoever runs the tests under nohup ignores the signal, and programs inherit
	// that, but not what is done about it.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for _, ignored := range []bool{false, true} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "hang"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		script := `exec "$0" "$@"`
		if ignored {
			script = `trap "" HUP; ` + script
		}
		proxy := exec.Command("sh", "-c", script, self, "wrap", "--http", "127.0.0.1:0", "--", self, "counter", dir)
		proxy.Env = append(os.Environ(), "RLMPROXY_TEST_RUN=1")
		stderr, err := proxy.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := proxy.Start(); err != nil {
			t.Fatal(err)
		}
		stuck := time.AfterFunc(time.Minute, func() {
			t.Error("it does not end")
			_ = proxy.Process.Kill()
		})
		lines := bufio.NewScanner(stderr)
		address := ""
		for address == "" && lines.Scan() {
			_, rest, _ := strings.Cut(lines.Text(), "listening on http://")
			address, _, _ = strings.Cut(rest, "/")
		}
		server := ""
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
		if err := proxy.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if ignored {
			time.Sleep(100 * time.Millisecond) // its end would have begun
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Errorf("the proxy ended under nohup: %v", err)
			} else {
				c.Close()
			}
			interrupt(t, proxy.Process)
		}
		for lines.Scan() {
		}
		err = proxy.Wait()
		stuck.Stop()
		if alive(server) {
			t.Errorf("ignored %v: the server outlives the proxy: %v", ignored, err)
			if pid, err := strconv.Atoi(server); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}
