//go:build unix

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestTwoAgents: over HTTP each agent sees and calls its own tools; when the file changes it
// is told, and sees others; when its token is taken out it is out, and the other one stays.
func TestTwoAgents(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, tokens := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "tokens")
	write := func(agents string) {
		t.Helper()
		put(t, file+".new", fmt.Sprintf(`{"mcpServers": {"a": {"command": %q, "args": ["counter", %q]}, "b": {"command": %[1]q, "args": ["counter", %[2]q]}},
			"proxySettings": {"agents": %[3]s}}`, self, t.TempDir(), agents))
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"alice": {"allow": ["a_*"]}, "bob": {"deny": ["a_*"]}}`)
	put(t, tokens, "alice: the-token-of-alice\nbob: the-old-token-of-bob\nbob: the-new-token-of-bob\n")
	proxy := exec.Command(self, "serve", "--http", "127.0.0.1:0", "--config", file, "--http-tokens-file", tokens)
	proxy.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // or SIGHUP would be of a terminal
	url, logged := overHTTP(t, proxy)
	changed := make(chan bool, 100)
	connect := func(token string) *mcp.ClientSession {
		t.Helper()
		c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
		}).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1},
			&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	sees := func(c *mcp.ClientSession, want string) {
		t.Helper()
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			if !strings.HasPrefix(tool.Name, "proxy_") {
				names = append(names, tool.Name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("sees %s, want %s", got, want)
		}
	}
	calls := func(c *mcp.ClientSession, tool string) string {
		result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
		if err != nil {
			return err.Error()
		}
		return result.Content[0].(*mcp.TextContent).Text
	}
	alice, old, new := connect("the-token-of-alice"), connect("the-old-token-of-bob"), connect("the-new-token-of-bob")
	sees(alice, "a_next")
	sees(old, "b_next")
	sees(new, "b_next")
	if got := calls(alice, "a_next"); !strings.HasPrefix(got, "1 of ") {
		t.Errorf("alice's own: %s", got)
	}
	if got := calls(alice, "b_next"); !strings.HasPrefix(got, `unknown_tool: no tool "b_next"`) || strings.Count(got, "b_next") != 1 {
		t.Errorf("bob's: %s", got)
	}

	write(`{"alice": {"allow": ["?_next"]}, "bob": {}, "nobody": {}}`)
	<-changed
	eventually(t, "alice does not see more", func() bool {
		list, err := alice.ListTools(t.Context(), nil)
		return err == nil && len(list.Tools) == 5
	})

	put(t, tokens, "alice: short\n") // a mistake changes nothing
	if err := proxy.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	put(t, tokens, "bob: the-new-token-of-bob\n")
	if err := proxy.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*mcp.ClientSession{alice, old} {
		eventually(t, "a revoked token is of use", func() bool {
			_, err := c.ListTools(t.Context(), nil)
			return err != nil
		})
	}
	sees(new, "a_next b_next")
	_ = new.Close()
	interrupt(t, proxy.Process)
	log := <-logged
	_ = proxy.Wait()
	for _, want := range []string{`level=WARN msg="no token names an agent of proxySettings.agents" agent=nobody`, `msg="tokens read again" tokens=1 new=0 revoked=2`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %s:\n%s", want, log)
		}
	}
	if strings.Contains(log, "the-old") || strings.Contains(log, "the-token") {
		t.Errorf("a token is logged:\n%s", log)
	}
}

// TestSocket: --http unix:/path serves there with its permissions, without a token, and
// leaves nothing behind.
func TestSocket(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "socket")
	proxy := exec.Command(self, "wrap", "--http", "unix:"+path, "--http-socket-mode", "0660", "--", self, "counter", t.TempDir())
	url, logged := overHTTP(t, proxy)
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o660 {
		t.Fatalf("%v %v", info, err)
	}
	here := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: here}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "next"}); err != nil {
		t.Error(err)
	}
	_ = c.Close()
	// A page whose name leads here, through whatever forwards it, is refused as on a port.
	resp, err := here.Get("http://evil.example.com/mcp")
	if err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("%v %v", resp, err)
	}
	resp.Body.Close()
	interrupt(t, proxy.Process)
	<-logged
	if err := proxy.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}
