package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/config"
)

// rows is a server over stdin and stdout whose tool rows returns a long text about a name.
func rows() int {
	s := mcp.NewServer(&mcp.Implementation{Name: "rows", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "rows", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var b strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&b, "%s %d\n", r.Params.Arguments, i)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: b.String()}}}, nil
		})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
	return 0
}

// A bearer shows a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// call returns the text of a tool's answer, and the id in it.
func call(t *testing.T, c *mcp.ClientSession, tool string, arguments map[string]any) (text, id string) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	facts, _ := r.Meta["rlmproxy/result"].(map[string]any)
	id, _ = facts["cache_id"].(string)
	return r.Content[0].(*mcp.TextContent).Text, id
}

// TestKilled: with cacheDir, what was handed out before kill -9 answers after a restart with
// the same bytes, to the same agent: over HTTP whom the token names, over a pipe whoever has
// the configuration.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, other, tokens := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "other.json"), filepath.Join(dir, "tokens")
	for _, file := range []string{file, other} {
		put(t, file, fmt.Sprintf(`{"mcpServers": {"r": {"command": %q, "args": ["rows"]}}, "proxySettings": {"cacheDir": "kept", "maxResponseTokens": 500}}`, self))
	}
	put(t, tokens, "alice: the-token-of-alice\nbob: the-token-of-bob\n")
	type agent struct {
		*mcp.ClientSession
		kill func()
	}
	client := func() *mcp.Client { return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil) }
	overPipe := func(file string) agent {
		proxy := exec.Command(self, "serve", "--config", file)
		proxy.Env = append(os.Environ(), "RLMPROXY_TEST_RUN=1")
		c, err := client().Connect(t.Context(), &mcp.CommandTransport{Command: proxy}, nil)
		if err != nil {
			t.Fatal(err)
		}
		kill := func() {
			_ = proxy.Process.Kill()
			_ = c.Close() // waits for its end
		}
		t.Cleanup(kill)
		return agent{c, kill}
	}
	overWeb := func() (as func(token string) *mcp.ClientSession, kill func()) {
		proxy := exec.Command(self, "serve", "--http", "127.0.0.1:0", "--config", file, "--http-tokens-file", tokens)
		url, ended := overHTTP(t, proxy)
		as = func(token string) *mcp.ClientSession {
			c, err := client().Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		return as, func() {
			_ = proxy.Process.Kill()
			<-ended
			_ = proxy.Wait()
		}
	}
	reading := func(id string) map[string]any { return map[string]any{"cache_id": id, "whole": true} }
	// keep has a client keep some results, and returns what their ids answer.
	keep := func(c *mcp.ClientSession, whose string) map[string]string {
		kept := map[string]string{}
		for i := range 3 {
			_, id := call(t, c, "r_rows", map[string]any{"of": fmt.Sprint(whose, i)})
			text, _ := call(t, c, "proxy_filter", reading(id))
			if kept[id] = text; !strings.Contains(text, fmt.Sprint(whose, i)) {
				t.Fatalf("%s %q answers %.200s", whose, id, text)
			}
		}
		return kept
	}
	answers := func(c *mcp.ClientSession, kept map[string]string) {
		t.Helper()
		for id, want := range kept {
			if got, _ := call(t, c, "proxy_filter", reading(id)); got != want {
				t.Errorf("%s answers %.200q, before %.200q", id, got, want)
			}
		}
	}
	unknown := func(c *mcp.ClientSession, kept map[string]string) {
		t.Helper()
		for id := range kept {
			if got, _ := call(t, c, "proxy_filter", reading(id)); !strings.HasPrefix(got, "unknown_cache_id") {
				t.Errorf("%s of another agent answers %.200q", id, got)
			}
		}
	}

	first := overPipe(file)
	piped := keep(first.ClientSession, "pipe")
	second := overPipe(file) // beside it, in another window
	answers(second.ClientSession, piped)
	maps.Copy(piped, keep(second.ClientSession, "window"))
	if err := second.Close(); err != nil { // and not killed
		t.Error(err)
	}
	answers(first.ClientSession, piped)
	first.kill()
	answers(overPipe(file).ClientSession, piped)
	unknown(overPipe(other).ClientSession, piped)

	as, kill := overWeb()
	alice, bob := keep(as("the-token-of-alice"), "alice"), keep(as("the-token-of-bob"), "bob")
	kill()
	as, kill = overWeb()
	defer kill()
	answers(as("the-token-of-alice"), alice)
	answers(as("the-token-of-bob"), bob)
	unknown(as("the-token-of-bob"), alice)
	unknown(as("the-token-of-alice"), piped)
}

// TestHiding: whatever takes more out of results than before has those kept before expire,
// and no other change has.
func TestHiding(t *testing.T) {
	server := func(more string) string {
		return `{"mcpServers": {"a": {"command": "x"` + more + `}, "b": {"command": "y"}}}`
	}
	of := func(text string) string {
		path := filepath.Join(t.TempDir(), "mcp.json")
		put(t, path, text)
		cfg, err := config.Load(config.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		return hiding(cfg)
	}
	seen := map[string]string{}
	for _, more := range []string{``, `, "hide": ["salary"]`, `, "hide": ["salary", "iban"]`, `, "tools": {"t*": {"hide": ["salary"]}}`, `, "redact": "on"`} {
		d := of(server(more))
		if d != of(server(more+`, "timeout": 5, "deny": ["t"]`)) || seen[d] != "" {
			t.Errorf("%s: %s, as %s", more, d, seen[d])
		}
		seen[d] = more + " "
	}
}
