//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/registry/registrytest"
)

// TestMadeElsewhere: a tool that an agent makes in one process appears in another on the same
// PostgreSQL within a second, and is called there; a stale revision is refused; while the database
// is away, the tool goes on, and no log has its password.
func TestMadeElsewhere(t *testing.T) {
	database := registrytest.Start(t)
	file := filepath.Join(t.TempDir(), "mcp.json")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, fmt.Sprintf(`{"mcpServers": {"r": {"command": %q, "args": ["rows"]}}, "proxySettings": {"runtimeTools": true}}`, self))
	var logs [2]bytes.Buffer // read when the processes have ended
	var clients [2]*mcp.ClientSession
	changed := make(chan struct{}, 100)
	for i := range clients {
		proxy := exec.Command(self, "serve", "--config", file)
		proxy.Env = append(os.Environ(), "RLMPROXY_TEST_RUN=1", "RLMPROXY_REGISTRY_URL="+database.URL)
		proxy.Stderr = &logs[i]
		opts := &mcp.ClientOptions{}
		if i == 1 {
			opts.ToolListChangedHandler = func(_ context.Context, _ *mcp.ToolListChangedRequest) { changed <- struct{}{} }
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts).Connect(t.Context(), &mcp.CommandTransport{Command: proxy}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err, logs[i].String())
		}
		defer session.Close()
		clients[i] = session
	}
	says := func(i int, tool string, args any) string {
		t.Helper()
		result, err := clients[i].CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		return result.Content[0].(*mcp.TextContent).Text
	}
	if list, err := clients[1].ListTools(t.Context(), nil); err != nil || len(list.Tools) != 5 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	made := map[string]any{"action": "create", "name": "add", "description": "Adds two numbers.", "program": "return args.a + args.b"}
	if got := says(0, "proxy_tools", made); !strings.HasPrefix(got, "add: revision 1, enabled") {
		t.Fatal(got)
	}
	select {
	case <-changed:
	case <-time.After(time.Second):
		t.Fatal("the other process does not hear of it within a second")
	}
	if got := says(1, "add", map[string]int{"a": 40, "b": 2}); got != "42" {
		t.Error(got)
	}
	update := map[string]any{"action": "update", "name": "add", "revision": 1, "program": "return args.a * args.b"}
	if got := says(1, "proxy_tools", update); !strings.HasPrefix(got, "add: revision 2, enabled") {
		t.Error(got)
	}
	if got := says(0, "proxy_tools", update); !strings.Contains(got, "revision 1 is not the last one, which is 2") {
		t.Error(got)
	}
	database.Kill()
	if got := says(1, "add", map[string]int{"a": 21, "b": 2}); got != "42" {
		t.Errorf("without the database: %s", got)
	}
	if got := says(1, "proxy_tools", map[string]any{"action": "delete", "name": "add", "revision": 2}); !strings.HasPrefix(got, "store_unavailable: made tools cannot be changed now") {
		t.Error(got)
	}
	for i := range clients {
		clients[i].Close()
		if log := logs[i].String(); strings.Contains(log, registrytest.Password) {
			t.Errorf("the log has the password:\n%s", log)
		}
	}
}
