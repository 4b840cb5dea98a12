package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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
		// The server offers it to clients that have roots, as the Inspector does
		// and the proxy does not.
		if tool["name"] == "get-roots-list" {
			continue
		}
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
	server := real(t, "mcp-server-everything")
	t.Run("stdio", func(t *testing.T) {
		compareInspected(t, server, append([]string{binary, "wrap", "--"}, server...))
	})
	t.Run("http", func(t *testing.T) {
		compareInspected(t, server, []string{proxyHTTP(t, append([]string{"--"}, server...)...)})
	})
}

func compareInspected(t *testing.T, direct, proxied []string) {
	t.Helper()
	// --strict ends the Inspector at a schema that some hosts would not take.
	want, got := inspectTools(t, direct), inspectTools(t, proxied, "--strict")
	if len(want) == 0 || len(got) != len(want)+3 {
		t.Fatalf("%d tools, want the server's %d and three of ours", len(got), len(want))
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("tool %d:\n%s\ndirectly\n%s", i, got[i], w)
		}
	}
	for _, args := range [][]string{
		{"echo", `{"message":"é ☃ 𝄞"}`},
		{"get-structured-content", `{"location":"New York"}`},
		{"get-annotated-message", `{"messageType":"error","includeImage":true}`},
	} {
		call := []string{"--method", "tools/call", "--tool-name", args[0], "--tool-args-json", args[1]}
		if w, g := inspect(t, direct, call...), inspect(t, proxied, call...); len(w) < 10 || !bytes.Equal(w, g) {
			t.Errorf("%v:\n%.600s\ndirectly\n%.600s", args, g, w)
		}
	}
}

// TestInspectorCut: the Inspector takes a cut result of a tool that declares an
// outputSchema.
func TestInspectorCut(t *testing.T) {
	dir := modules(t)
	target := append(append([]string{binary, "wrap", "--"}, real(t, "mcp-server-filesystem")...), dir)
	var r reply
	if err := json.Unmarshal(inspect(t, target, "--method", "tools/call", "--tool-name", "directory_tree", "--tool-args-json", fmt.Sprintf(`{"path":%q}`, dir)), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Content) != 1 || !strings.HasPrefix(r.Content[0].Text, "[cut: ") || r.Meta.Result.CacheID == "" {
		t.Errorf("%.600v, want it cut", r)
	}
}
