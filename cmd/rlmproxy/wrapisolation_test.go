package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestWrapIsolation: with --isolation agent, sessions of wrap do not count together;
// without it they do.
func TestWrapIsolation(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flags []string
		want  string
	}{{nil, "1 2"}, {[]string{"--isolation", "shared"}, "1 2"}, {[]string{"--isolation", "agent"}, "1 1"}} {
		args := append([]string{"wrap", "--http", "127.0.0.1:0"}, tt.flags...)
		proxy := exec.Command(self, append(args, "--", self, "counter", t.TempDir())...)
		url, logged := overHTTP(t, proxy)
		var got []string
		for range 2 {
			c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
				Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
			if err != nil {
				t.Fatal(err)
			}
			result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "next"})
			if err != nil {
				t.Fatal(err)
			}
			n, _, _ := strings.Cut(result.Content[0].(*mcp.TextContent).Text, " of ")
			got = append(got, n)
			_ = c.Close()
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v: counted %v, want %s", tt.flags, got, tt.want)
		}
		interrupt(t, proxy.Process)
		<-logged
		_ = proxy.Wait()
	}
}
