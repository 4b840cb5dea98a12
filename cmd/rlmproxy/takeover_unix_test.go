//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A logBuffer is what a process has written to stderr.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestEditing: mcp.json is edited while clients call. No call of a server that stays as it is
// fails or reaches another process of it; the others come, change and go; a file with mistakes
// changes nothing; and no process is left.
func TestEditing(t *testing.T) {
	for _, over := range []string{"stdio", "http"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			edit(t, over)
		})
	}
}

func edit(t *testing.T, over string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pids, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "mcp.json")
	save := func(text string) {
		t.Helper()
		put(t, file+".new", text)
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	// write saves a file with a server of each of these names, and what entries have besides.
	write := func(entries ...string) {
		t.Helper()
		var servers []string
		for _, entry := range entries {
			name, more, _ := strings.Cut(entry, " ")
			servers = append(servers, fmt.Sprintf(`%q: {"command": %q, "args": ["counter", %q]%s}`, name, self, pids, more))
		}
		save(`{"mcpServers": {` + strings.Join(servers, ",\n") + `}}`)
	}
	write("stays", "changes", "goes")

	log := &logBuffer{}
	args := []string{"serve", "--config", file}
	if over == "http" {
		args = append(args, "--http", "127.0.0.1:0")
	}
	proxy := exec.Command(self, args...)
	proxy.Env = append(os.Environ(), "RLMPROXY_TEST_RUN=1", "RLMPROXY_STATE_DIR="+t.TempDir())
	proxy.Stderr = log
	proxy.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // or SIGHUP would be of a terminal
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log)
		}
	})
	logs := func(text string) {
		t.Helper()
		eventually(t, "the log lacks "+text, func() bool { return strings.Contains(log.String(), text) })
	}
	changed := make(chan bool, 1000)
	connect := func(transport mcp.Transport) *mcp.ClientSession {
		t.Helper()
		c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
		}).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var clients []*mcp.ClientSession
	if over == "stdio" {
		clients = append(clients, connect(&mcp.CommandTransport{Command: proxy}))
	} else {
		if err := proxy.Start(); err != nil {
			t.Fatal(err)
		}
		logs("listening on ")
		url := regexp.MustCompile(`http://[^ "]*/mcp`).FindString(log.String())
		for range 3 {
			clients = append(clients, connect(&mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}))
		}
	}
	defer func() { _ = proxy.Process.Kill() }()

	// call returns the pid of the process that answered, or the error.
	call := func(c *mcp.ClientSession, tool string) string {
		result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
		if err != nil {
			return err.Error()
		}
		raw, _ := json.Marshal(result.Content)
		if m := regexp.MustCompile(`\d+ of (\d+)`).FindSubmatch(raw); m != nil {
			return string(m[1])
		}
		return string(raw)
	}
	first := clients[0]
	stays, changes, goes := call(first, "stays_next"), call(first, "changes_next"), call(first, "goes_next")
	if !alive(stays) || !alive(changes) || !alive(goes) {
		t.Fatalf("%s, %s, %s", stays, changes, goes)
	}
	stop := make(chan struct{})
	var load sync.WaitGroup
	var calls [3]int
	var renamed atomic.Bool // changes
	for i := range calls {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond): // servers have to start beside us
				}
				if got := call(clients[i%len(clients)], "stays_next"); got != stays {
					t.Errorf("stays: %s, want an answer of %s", got, stays)
					return
				}
				calls[i]++
				got := call(clients[i%len(clients)], "changes_next")
				if renamed.Load() && strings.Contains(got, "unknown_tool") {
					continue
				}
				if !regexp.MustCompile(`^\d+$`).MatchString(got) && !strings.Contains(got, "upstream_unavailable") {
					t.Errorf("changes: %s", got)
				}
			}
		})
	}
	hangup := func() {
		t.Helper()
		if err := proxy.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}

	write("new", "stays", "changes", "goes") // and the next second sees it
	logs("the servers have changed\" added=new\n")
	eventually(t, "the new one does not answer", func() bool { return alive(call(first, "new_next")) })
	<-changed

	save(`{"mcpServers": {"stays": {"comand": "x"}}, "proxySettings": {"maxWholeToken": 7}}`)
	hangup()
	logs("mcpServers.stays.comand: unknown key")
	logs("proxySettings.maxWholeToken: unknown")
	if got := call(first, "goes_next"); got != goes {
		t.Errorf("after mistakes %s answers, want %s", got, goes)
	}

	write("new", "stays", `changes , "env": {"A": "b"}`, `goes , "disabled": true`)
	hangup()
	logs("the servers have changed\" removed=goes restarted=changes\n")
	eventually(t, "the changed one does not answer", func() bool { got := call(first, "changes_next"); return got != changes && alive(got) })
	eventually(t, "those that are not served any more go on", func() bool { return !alive(changes) && !alive(goes) })
	if got := call(first, "goes_next"); !strings.Contains(got, "unknown_tool") {
		t.Errorf("goes: %s", got)
	}
	changes = call(first, "changes_next")

	renamed.Store(true)
	write(`stays , "deny": ["x*"], "timeout": 30`, `changes , "env": {"A": "b"}, "prefix": "other"`, "goes")
	hangup()
	logs(`added=goes changed="stays, changes" removed=new`)
	if got := call(first, "other_next"); got != changes {
		t.Errorf("with another policy %s answers, want %s", got, changes)
	}
	eventually(t, "one that comes again does not answer", func() bool { return alive(call(first, "goes_next")) })
	write("goes", `stays , "deny": ["x*"], "timeout": 30`, `changes , "env": {"A": "b"}, "prefix": "other"`)
	hangup()
	logs(`the servers have changed" order="goes, stays, changes"`)
	hangup()
	logs("nothing has changed")

	close(stop)
	load.Wait()
	for i, n := range calls {
		if n < 10 {
			t.Errorf("client %d made %d calls", i, n)
		}
	}
	for _, c := range clients {
		c.Close()
	}
	if over == "http" {
		interrupt(t, proxy.Process)
		_ = proxy.Wait()
	}
	left, err := os.ReadDir(pids)
	if err != nil || len(left) != 6 {
		t.Errorf("%d processes were started, want 6: %v", len(left), err)
	}
	for _, pid := range left {
		if alive(pid.Name()) {
			t.Errorf("%s outlives the proxy", pid.Name())
		}
	}
}
