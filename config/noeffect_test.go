package config

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestNoEffect: what cannot reach a server is warned of; an empty one, as other
// hosts write it, is not. A token in env beside a url was left off in silence.
func TestNoEffect(t *testing.T) {
	for _, tt := range []struct {
		server string
		want   []string
	}{
		{`{"url":"https://example.com/mcp","env":{"TOKEN":"hunter2"},"cwd":"/x","args":["y"]}`, []string{
			`:1:97: mcpServers.a.args: no effect: rlmproxy does not start a server at a url`,
			`:1:59: mcpServers.a.env: no effect: rlmproxy does not start a server at a url; pass secrets to it in headers`,
			`:1:85: mcpServers.a.cwd: no effect: rlmproxy does not start a server at a url`,
		}},
		{`{"url":"https://example.com/mcp","env":{},"cwd":"","args":[],"headers":{"X":"y"}}`, nil},
		{`{"command":"x","headers":{"Authorization":"hunter2"},"env":{"A":"b"}}`, []string{
			`:1:45: mcpServers.a.headers: no effect: only servers at a url get headers; pass secrets to it in env`,
		}},
		{`{"command":"x","headers":{},"env":{"A":"b"},"cwd":"/x","args":["y"]}`, nil},
	} {
		path := filepath.Join(t.TempDir(), "mcp.json")
		write(t, path, `{"mcpServers":{"a":`+tt.server+`}}`)
		c, err := Load(Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		for i := range tt.want {
			tt.want[i] = path + tt.want[i]
		}
		if diff := cmp.Diff(tt.want, c.Warnings, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.server, diff)
		}
	}
}

// TestSingleBackslash: a path that reads as something else is warned of, and not
// shown.
func TestSingleBackslash(t *testing.T) {
	c, err := load("mcp.json", "/mcp.json", []byte(`{"mcpServers":{"a":{"command":"C:\new\tool","cwd":"C:\\new"}}}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := `mcp.json:1:31: mcpServers.a.command: it has a line break, a tab or a similar character; a backslash is written \\, as in "C:\\new"`
	if len(c.Warnings) != 1 || c.Warnings[0] != want {
		t.Errorf("warnings %q, want %s", c.Warnings, want)
	}
}
