//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/container/containertest"
)

// TestMadeInContainer: a tool with engine container goes through the whole stack: it runs in the
// image of the settings, and calls a server's tool as the agent. A mistake and
// packages that are none are refused when it is made.
func TestMadeInContainer(t *testing.T) {
	containertest.Start(t)
	t.Cleanup(func() {
		if err := containertest.Remove(); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(t.TempDir(), "mcp.json")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, fmt.Sprintf(`{"mcpServers": {"r": {"command": %q, "args": ["rows"]}}, "proxySettings": {"runtimeTools": true, "freshCalls": "all", "stateDir": %q, "containerImage": %q}}`,
		self, filepath.Join(t.TempDir(), "state"), containertest.Image))
	proxy := exec.Command(self, "serve", "--config", file)
	proxy.Env = append(os.Environ(), "RLMPROXY_TEST_RUN=1")
	var log bytes.Buffer // read when the process has ended
	proxy.Stderr = &log
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: proxy}, nil)
	if err != nil {
		t.Fatal(err, log.String())
	}
	defer func() {
		session.Close()
		if t.Failed() {
			t.Log(log.String())
		}
	}()
	says := func(tool string, args any) string {
		t.Helper()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		return result.Content[0].(*mcp.TextContent).Text
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	server := ""
	for _, tool := range list.Tools {
		if !strings.HasPrefix(tool.Name, "proxy_") {
			server = tool.Name
		}
	}
	made := map[string]any{"action": "create", "name": "apart", "description": "Counts rows.", "engine": "container", "program": `
		const got = await call(args.tool, {})
		return {node: typeof process.version, empty: got === undefined, interfaces: Object.keys(require("os").networkInterfaces())}`}
	if got := says("proxy_tools", made); !strings.HasPrefix(got, "apart: revision 1, enabled") {
		t.Fatal(got)
	}
	if got := says("apart", map[string]string{"tool": server}); got != `{"node":"string","empty":false,"interfaces":["lo"]}` {
		t.Error(got)
	}
	made["name"], made["program"] = "apart2", "let a\nreturn ]"
	if got := says("proxy_tools", made); got != "bad_program: apart2: SyntaxError: Unexpected token ']' (line 2, column 8)\n    return ]\n           ^" {
		t.Error(got)
	}
	made["program"], made["packages"] = "return 1", []string{"../x@1.0.0"}
	if got := says("proxy_tools", made); !strings.HasPrefix(got, "bad_arguments: proxy_tools: package ") {
		t.Error(got)
	}
}
