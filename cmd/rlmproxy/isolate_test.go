package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// counter is a server over stdin and stdout whose tool next counts the calls of
// its process. It leaves a file named after its pid in dir. While there is a file
// hang in dir, new ones do not answer.
func counter(dir string) int {
	if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), nil, 0o600); err != nil {
		return 1
	}
	if _, err := os.Stat(filepath.Join(dir, "hang")); err == nil {
		_, _ = io.Copy(io.Discard, os.Stdin)
		time.Sleep(time.Hour)
	}
	n := 0
	s := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "next", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			n++
			hold := filepath.Join(dir, "hold")
			for _, err := os.Stat(hold); err == nil && ctx.Err() == nil; _, err = os.Stat(hold) { // TestEnding takes it away
				_ = os.WriteFile(filepath.Join(dir, "held"), nil, 0o600)
				time.Sleep(5 * time.Millisecond)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%d of %d", n, os.Getpid())}}}, nil
		})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
	return 0
}

// overHTTP starts a proxy that serves HTTP, and returns its endpoint, and what it
// has logged behind that when it ends.
func overHTTP(t *testing.T, proxy *exec.Cmd) (url string, logged <-chan string) {
	t.Helper()
	proxy.Env = append(os.Environ(), "RLMPROXY_TEST_RUN=1")
	stderr, err := proxy.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Process.Kill() })
	lines := bufio.NewScanner(stderr)
	for url == "" && lines.Scan() {
		url = regexp.MustCompile(`http://[^ "]*/mcp`).FindString(lines.Text())
	}
	log := make(chan string, 1)
	go func() { // or it waits for somebody to read
		var all strings.Builder
		for lines.Scan() {
			all.WriteString(lines.Text() + "\n")
		}
		log <- all.String()
	}()
	return url, log
}

// alive reports whether there is a process of this pid.
func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	p, err := os.FindProcess(n)
	return err == nil && probe(p)
}

// eventually waits for ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal(what)
		}
	}
}

// TestIsolation: through serve --http, each session has a process of its own, which
// ends with it, even while it starts; none outlives the proxy.
func TestIsolation(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pids := func() (list []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "hang" {
				list = append(list, e.Name())
			}
		}
		return list
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	server, err := json.Marshal(map[string]any{"command": self, "args": []string{"counter", dir}, "isolation": "agent"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers":{"c":%s}}`, server), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy := exec.Command(self, "serve", "--http", "127.0.0.1:0", "--config", file)
	url, logged := overHTTP(t, proxy)
	connect := func() *mcp.ClientSession {
		t.Helper()
		c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
			Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return c
	}
	next := func(c *mcp.ClientSession, want string) (pid string) {
		t.Helper()
		result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "c_next"})
		if err != nil {
			t.Fatal(err)
		}
		n, pid, _ := strings.Cut(result.Content[0].(*mcp.TextContent).Text, " of ")
		if n != want || !alive(pid) {
			t.Errorf("counted %s by %s, want %s", n, pid, want)
		}
		return pid
	}
	one, two := connect(), connect()
	if n := len(pids()); n != 1 {
		t.Errorf("%d processes before the first call", n)
	}
	first := next(one, "1")
	next(one, "2")
	second := next(two, "1")
	if next(one, "3") != first || first == second {
		t.Errorf("processes %s and %s", first, second)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process of a session that has ended", func() bool { return !alive(first) })
	next(two, "2")

	if err := os.WriteFile(filepath.Join(dir, "hang"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	three, before := connect(), len(pids())
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan error)
	go func() {
		_, err := three.CallTool(ctx, &mcp.CallToolParams{Name: "c_next"})
		called <- err
	}()
	eventually(t, "no process for the third", func() bool { return len(pids()) > before })
	cancel()
	if err := <-called; err == nil {
		t.Error("a server that hangs has answered")
	}
	if err := three.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process of a session that ended while it was connecting", func() bool {
		n := 0
		for _, pid := range pids() {
			if alive(pid) {
				n++
			}
		}
		return n == 2
	})

	// Another is connecting, and one at work, when the proxy ends.
	four, before := connect(), len(pids())
	ctx, cancel = context.WithCancel(t.Context())
	go four.CallTool(ctx, &mcp.CallToolParams{Name: "c_next"})
	eventually(t, "no process for the fourth", func() bool { return len(pids()) > before })
	interrupt(t, proxy.Process)
	cancel() // or the proxy waits for its end
	log := <-logged
	if err := proxy.Wait(); err != nil {
		t.Errorf("the proxy: %v\n%s", err, log)
	}
	for _, pid := range pids() {
		if alive(pid) {
			t.Errorf("%s outlives the proxy", pid)
		}
	}
	if n := len(pids()); n != 5 {
		t.Errorf("%d processes, want one of nobody and four of agents", n)
	}
	if !strings.Contains(log, "its session has ended") {
		t.Errorf("the log does not say why a process ended:\n%s", log)
	}
}
