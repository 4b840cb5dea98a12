//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestManage: an agent changes the servers of a proxy that runs, as its person agrees; what is
// new is in quarantine until they have looked at it, and another's edit of the file is kept.
func TestManage(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, state := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "mcp.json")
	entry := func(more string) string {
		return fmt.Sprintf(`{"command": %q, "args": ["counter", %q]%s}`, self, dir, more)
	}
	text := "{\n  // of the operator\n  \"mcpServers\": {\n    \"first\": " + entry(`, "env": {"TOKEN": "hunter2"}`) + ", // stays\n  },\n  \"proxySettings\": {\"enableUpstreamTool\": true},\n}\n"
	put(t, file, text)
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(self, args...)
		cmd.Env = append(os.Environ(), "RLMPROXY_TEST_RUN=1", "RLMPROXY_STATE_DIR="+state)
		return cmd
	}
	log := &logBuffer{}
	proxy := run("serve", "--config", file)
	proxy.Stderr = log
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log)
		}
	})
	changed := make(chan bool, 100)
	ask := func(message string) string { t.Errorf("asked %s", message); return "decline" }
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: ask(r.Params.Message)}, nil
		},
	})
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: proxy}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	call := func(name, args string) string {
		t.Helper()
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Content[0].(*mcp.TextContent).Text
		if strings.Contains(got, "hunter2") || strings.Contains(got, "hunter3") {
			t.Errorf("a secret is shown: %s", got)
		}
		return got
	}
	content := func() string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, tt := range []struct{ name, args, asked, action, want, file string }{
		{"list", `{}`, "", "", "first: ready, 1 tool (stdio; env TOKEN)", ""},
		{"hand over a secret", `{"changes":[{"action":"disable","name":"first"},{"action":"add","name":"x","server":` + entry(`,"env":{"T":"${file:/etc/hostname}"}`) + `}]}`, "", "",
			"bad_arguments: nothing is changed: add \"x\": \"env\" has a reference", ""},
		{"run something else with a secret", `{"changes":[{"action":"update","name":"first","server":{"command":"sh","args":["-c","env"]}}]}`, "", "", "bad_arguments: nothing is changed: update \"first\": \"env\" stays", ""},
		{"a mistake", `{"changes":[{"action":"disable","name":"first"},{"action":"add","name":"x","server":{"command":"a","url":"https://example.com"}}]}`, "", "",
			"bad_arguments: nothing is changed: mcpServers.x: both command and url are set; keep one", ""},
		{"no server is left", `{"changes":[{"action":"remove","name":"first"}]}`, "", "", "bad_arguments: nothing is changed: mcpServers: there is no server", ""},
		{"declined", `{"changes":[{"action":"disable","name":"first"}]}`, "- disable \"first\"", "decline", "bad_arguments: nothing is changed: the person who was asked does not want it", ""},
		{"add", `{"changes":[{"action":"add","name":"second","server":` + entry(`,"env":{"API_KEY":"hunter3"}`) + `}]}`, "- add \"second\", in quarantine: {\"command\":", "accept",
			"second: quarantined, 1 tool, 1 held back until the person has looked at them: rlmproxy trust review", `"quarantine": true`},
	} {
		before, was := content(), ""
		ask = func(message string) string { was = message; return tt.action }
		got := call("proxy_upstreams", tt.args)
		if !strings.HasPrefix(got, tt.want) || !strings.Contains(was, tt.asked) || (was == "") != (tt.asked == "") {
			t.Errorf("%s: got %s\nasked %s", tt.name, got, was)
		}
		if after := content(); (after == before) != (tt.file == "") || !strings.Contains(after, tt.file) {
			t.Errorf("%s: the file is %s", tt.name, after)
		}
	}
	if now := content(); !strings.HasPrefix(now, strings.TrimSuffix(text, "  },\n  \"proxySettings\": {\"enableUpstreamTool\": true},\n}\n")) || !strings.Contains(now, "\n  // of the operator\n") {
		t.Errorf("the file is %s", now)
	}
	// It is called when the person has looked at it.
	if got := call("second_next", `{}`); !strings.HasPrefix(got, "held_back:") {
		t.Errorf("in quarantine: %s", got)
	}
	if out, err := run("trust", "accept", "second").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eventually(t, "what was accepted is not called", func() bool { return strings.HasPrefix(call("second_next", `{}`), "1 of ") })
	select {
	case <-changed:
	case <-t.Context().Done():
	}

	// While the person is asked, the operator edits the file: both edits count.
	ask = func(string) string {
		put(t, file, strings.Replace(content(), "// of the operator", "// changed meanwhile", 1))
		return "accept"
	}
	if got := call("proxy_upstreams", `{"changes":[{"action":"disable","name":"second"}]}`); got != "second: disabled (stdio; env API_KEY)" {
		t.Errorf("got %s", got)
	}
	if now := content(); !strings.Contains(now, "// changed meanwhile") || !strings.Contains(now, `"disabled": true`) {
		t.Errorf("the file is %s", now)
	}
	// Unless there is nothing to change any more.
	ask = func(string) string {
		put(t, file, text)
		return "accept"
	}
	if got := call("proxy_upstreams", `{"changes":[{"action":"enable","name":"second"},{"action":"disable","name":"first"}]}`); !strings.HasPrefix(got, `bad_arguments: nothing is changed: enable "second": there is no such server; there are "first"`) || content() != text {
		t.Errorf("got %s\nthe file is %s", got, content())
	}
	// A file that is gone is not made anew.
	ask = func(string) string {
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
		return "accept"
	}
	if got := call("proxy_upstreams", `{"changes":[{"action":"add","name":"third","server":{"command":"x"}}]}`); !strings.HasPrefix(got, "bad_arguments: nothing is changed: mcp.json cannot be read: the log of the proxy says why") {
		t.Errorf("got %s", got)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is there again")
	}
	said := log.String()
	for _, want := range []string{
		`msg="an agent has changed mcp.json" agent=connection-1 action=add server=second person_agreed=true`,
		`msg="mcp.json was read again, the servers have changed" added=second`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if strings.Contains(said, "hunter") {
		t.Error("the log has a secret")
	}
}
