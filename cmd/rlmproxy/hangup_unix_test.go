//go:build unix

package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHangup: who closes the terminal leaves no process behind, not one that does
// not mind the end of its stdin either; under nohup the proxy goes on. Servers are
// in groups of their own, which a terminal's end does not reach.
func TestHangup(t *testing.T) {
	// Whoever runs the tests under nohup ignores the signal, and programs inherit
	// that, but not what is done about it.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for _, ignored := range []bool{false, true} {
		script := `exec "$0" "$@"`
		if ignored {
			script = `trap "" HUP; ` + script
		}
		var proxy *exec.Cmd
		var stderr io.ReadCloser
		server := hanging(t, func(self, dir string) *exec.Cmd {
			proxy = exec.Command("sh", "-c", script, self, "wrap", "--http", "127.0.0.1:0", "--", self, "counter", dir)
			var err error
			if stderr, err = proxy.StderrPipe(); err != nil {
				t.Fatal(err)
			}
			return proxy
		})
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
		err := proxy.Wait()
		stuck.Stop()
		if alive(server) {
			t.Errorf("ignored %v: the server outlives the proxy: %v", ignored, err)
		}
	}
}
