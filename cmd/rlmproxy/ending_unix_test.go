//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// waiting starts a proxy, over pipes, with a call that waits, and returns the lines that it
// writes, what ends the call, and the pid of the server.
func waiting(t *testing.T, args ...string) (proxy *exec.Cmd, stdin io.Writer, lines <-chan string, letGo func(), server string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	hold := filepath.Join(dir, "hold")
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	proxy = exec.Command(self, append(args, "--", self, "counter", dir)...)
	proxy.Env = append(os.Environ(), "RLMPROXY_TEST_RUN=1")
	in, err := proxy.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	proxy.Stdout, proxy.Stderr = w, w
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { _ = proxy.Process.Kill() })
	written := make(chan string, 100)
	go func() {
		defer close(written)
		for all := bufio.NewScanner(r); all.Scan(); {
			written <- all.Text()
		}
	}()
	if args[0] == "wrap" {
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"next","arguments":{}}}`)
	}
	eventually(t, "the call does not begin", func() bool {
		_, err := os.Stat(filepath.Join(dir, "held"))
		return err == nil
	})
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			server = e.Name()
		}
	}
	return proxy, in, written, func() {
		if err := os.Remove(hold); err != nil {
			t.Error(err)
		}
	}, server
}

// linesUntil returns the line that has a text, and those before it.
func linesUntil(t *testing.T, lines <-chan string, text string) (before string) {
	t.Helper()
	for line := range lines {
		before += line + "\n"
		if strings.Contains(line, text) {
			return before
		}
	}
	t.Fatalf("no line has %s:\n%s", text, before)
	return ""
}

// TestEnding: the first signal takes no other call and lets the one that runs end, the
// second ends all at once. Nothing is left of the server. It used to cancel the call, which
// got no answer, and not to mind the second.
func TestEnding(t *testing.T) {
	t.Run("once", func(t *testing.T) {
		proxy, stdin, lines, letGo, server := waiting(t, "wrap")
		interrupt(t, proxy.Process)
		linesUntil(t, lines, "shutting down once running requests have ended")
		fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"next"}}`)
		linesUntil(t, lines, `{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"the proxy is shutting down"}}`)
		letGo()
		linesUntil(t, lines, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"1 of `+server+`"}]}}`)
		if err := proxy.Wait(); err != nil {
			t.Error(err)
		}
		if alive(server) {
			t.Error("the server outlives the proxy")
		}
	})
	t.Run("twice", func(t *testing.T) {
		proxy, _, lines, _, server := waiting(t, "wrap")
		begun := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- proxy.Wait() }()
		var err error
		eventually(t, "it does not end", func() bool {
			_ = proxy.Process.Signal(os.Interrupt)
			select {
			case err = <-ended:
				return true
			default:
				return false
			}
		})
		var exit *exec.ExitError
		if took := time.Since(begun); !errors.As(err, &exit) || exit.ExitCode() != exitFailed || took > 4*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		eventually(t, "the server outlives the proxy", func() bool { return !alive(server) })
		for range lines {
		}
	})
	t.Run("call", func(t *testing.T) {
		proxy, _, lines, _, server := waiting(t, "call", "next")
		interrupt(t, proxy.Process)
		linesUntil(t, lines, "rlmproxy: error: interrupted")
		var exit *exec.ExitError
		if err := proxy.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
			t.Error(err)
		}
		if alive(server) {
			t.Error("the server outlives the proxy")
		}
	})
}
