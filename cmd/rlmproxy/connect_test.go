package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/config/clients"
)

// TestConnectedClient: on a machine with three servers in Claude Desktop, connect, and the
// command that its file now holds, started as Claude Desktop starts it, serves their tools.
func TestConnectedClient(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	environ := append(os.Environ(), "RLMPROXY_TEST_RUN=1", "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME=", "APPDATA="+filepath.Join(home, "AppData"), "RLMPROXY_STATE_DIR="+t.TempDir())
	program := installed(t, self)
	servers := map[string]any{}
	for _, name := range []string{"files", "memory", "wiki"} {
		list := filepath.Join(home, name+".tools.json")
		if err := os.WriteFile(list, fmt.Appendf(nil, `[{"name":"read_%s","inputSchema":{"type":"object"}}]`, name), 0o600); err != nil {
			t.Fatal(err)
		}
		servers[name] = map[string]any{"command": self, "args": []string{"listed", list}}
	}
	before, err := json.MarshalIndent(map[string]any{"mcpServers": servers, "globalShortcut": ""}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	sys := clients.System{OS: runtime.GOOS, Home: home, Dir: home, Getenv: func(name string) string {
		return map[string]string{"APPDATA": filepath.Join(home, "AppData")}[name]
	}}
	file := sys.Places(clients.Find("claude-desktop"), func(string) bool { return false })[0].Path
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, before, 0o600); err != nil {
		t.Fatal(err)
	}
	rlmproxy := func(args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Env = environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
	}
	rlmproxy("connect", "claude-desktop")

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var connected struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal(text, &connected); err != nil {
		t.Fatal(err)
	}
	entry := connected.MCPServers["rlmproxy"]
	if len(connected.MCPServers) != 1 || !filepath.IsAbs(entry.Command) {
		t.Fatalf("%s", text)
	}
	desktop := exec.Command(entry.Command, entry.Args...)
	desktop.Env = environ
	session, err := mcp.NewClient(&mcp.Implementation{Name: "desktop", Version: "1"}, nil).Connect(context.Background(), &mcp.CommandTransport{Command: desktop}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for tool, err := range session.Tools(context.Background(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(tool.Name, "proxy_") {
			got = append(got, tool.Name)
		}
	}
	if diff := cmp.Diff([]string{"files_read_files", "memory_read_memory", "wiki_read_wiki"}, got); diff != "" {
		t.Error(diff)
	}
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "memory_read_memory"})
	if err != nil || result.Content[0].(*mcp.TextContent).Text != "did read_memory" {
		t.Error(err, result)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	rlmproxy("disconnect", "claude-desktop")
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Error(err, cmp.Diff(string(before), string(after)))
	}
}

// installed is our program where it stays: go test, as go run, removes its own.
func installed(t *testing.T, self string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(self))
	if err := os.Link(self, path); err == nil {
		return path
	}
	data, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(path, data, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
