package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inspect runs the command line of the official Inspector, which is strict about
// schemas as well, against a command or a URL and returns the result.
func inspect(t *testing.T, target []string, args ...string) json.RawMessage {
	t.Helper()
	args = append([]string{module(t, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"), "--cli"},
		append(append(target[:len(target):len(target)], args...), "--format", "json")...)
	cmd := exec.CommandContext(t.Context(), node22(t), args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	var envelope struct{ Result json.RawMessage }
	if err == nil {
		err = json.Unmarshal(out, &envelope)
	}
	if err != nil {
		t.Fatalf("inspector %v: %v\n%s\n%s", args, err, tail(string(out), 3000), tail(log.String(), 3000))
	}
	return envelope.Result
}

// inspectTools lists a target's tools as the Inspector prints them, as JSON, one
// each, without outputSchema and without those that the proxy cannot show.
func inspectTools(t *testing.T, target []string, args ...string) (tools []string) {
	t.Helper()
	var list struct{ Tools []map[string]any }
	if err := json.Unmarshal(inspect(t, target, append([]string{"--method", "tools/list"}, args...)...), &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		delete(tool, "outputSchema")
		b, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, string(b))
	}
	return tools
}

// TestInspector compares what the Inspector prints of a server with what it
// prints of the proxy in front of it.
func TestInspector(t *testing.T) {
	dir, dot := modules(t), filepath.Join(t.TempDir(), "dot.png")
	if err := os.WriteFile(dot, []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := append(real(t, "mcp-server-filesystem"), dir, filepath.Dir(dot))
	unread := filepath.Join(filepath.Dir(dot), "unread.txt") // so that it is never accessed anew
	if err := os.WriteFile(unread, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := [][]string{
		{"get_file_info", fmt.Sprintf(`{"path":%q}`, unread)},
		{"list_directory", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "@modelcontextprotocol"))},
		{"read_media_file", fmt.Sprintf(`{"path":%q}`, dot)},
	}
	tools := inspectTools(t, server)
	results := make([]json.RawMessage, len(calls))
	for i, call := range calls {
		results[i] = inspectCall(t, server, call)
	}
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			target := append([]string{binary, "wrap", "--"}, server...)
			if transport == "http" {
				target = []string{proxyHTTP(t, append([]string{"--"}, server...)...)}
			}
			// --strict ends the Inspector at a schema that some hosts would not take.
			got := inspectTools(t, target, "--strict")
			if len(tools) == 0 || len(got) != len(tools)+3 {
				t.Fatalf("%d tools, want the server's %d and three of ours", len(got), len(tools))
			}
			for i, want := range tools {
				if got[i] != want {
					t.Errorf("tool %d:\n%s\ndirectly\n%s", i, got[i], want)
				}
			}
			for i, call := range calls {
				if got := inspectCall(t, target, call); len(got) < 10 || !bytes.Equal(got, results[i]) {
					t.Errorf("%v:\n%.600s\ndirectly\n%.600s", call, got, results[i])
				}
			}
			// A cut reply lacks what the tool's outputSchema asks for.
			var r reply
			if err := json.Unmarshal(inspectCall(t, target, []string{"directory_tree", fmt.Sprintf(`{"path":%q}`, dir)}), &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Content) != 1 || !strings.HasPrefix(r.Content[0].Text, "[cut: ") || r.Meta.Result.CacheID == "" {
				t.Errorf("directory_tree: %.600v, want it cut", r)
			}
		})
	}
}

// inspectCall calls a tool, given as its name and arguments.
func inspectCall(t *testing.T, target, call []string) json.RawMessage {
	t.Helper()
	return inspect(t, target, "--method", "tools/call", "--tool-name", call[0], "--tool-args-json", call[1])
}
