package clients

import (
	"encoding/json"
	"testing"
	"time"

	"rlmproxy/config"
)

// TestPatience: a call may take as long behind the proxy as it could for the client, and what
// the client's file says counts before what it waits by itself.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		client, file, ours string
		want               time.Duration
	}{
		{"claude-desktop", `{"mcpServers": {"x": {"command": "x"}}}`, "", 4 * time.Minute},
		{"claude-code", `{"mcpServers": {"x": {"command": "x"}}}`, "", forever},
		{"claude-code", `{"mcpServers": {"x": {"command": "x", "timeout": 5000}}}`, "", 5 * time.Second},
		{"claude-code", `{"mcpServers": {"x": {"command": "x", "timeout": 7200000}}}`, "", 2 * time.Hour},
		{"vscode", `{"servers": {"x": {"command": "x"}}}`, "", forever},
		{"gemini", `{"mcpServers": {"x": {"command": "x"}}}`, "", 10 * time.Minute},
		{"gemini", `{"mcpServers": {"x": {"command": "x"}}}`, `{"mcpServers": {}, "proxySettings": {"callTimeout": "15m"}}`, 15 * time.Minute},
		{"gemini", `{"mcpServers": {"x": {"command": "x"}}}`, `{"mcpServers": {}, "proxySettings": {"callTimeout": "5m"}}`, 10 * time.Minute},
		{"cline", `{"mcpServers": {"x": {"command": "x"}}}`, "", time.Minute},
		{"cline", `{"mcpServers": {"x": {"command": "x"}}}`, `{"mcpServers": {}, "proxySettings": {"callTimeout": "30s"}}`, time.Minute},
		{"zed", `{"context_servers": {"x": {"command": "x"}}}`, "", time.Minute},
		{"zed", `{"context_servers": {"x": {"command": "x", "timeout": 90}}, "context_server_timeout": 300}`, "", 90 * time.Second},
		{"zed", `{"context_servers": {"x": {"command": "x"}}, "context_server_timeout": 300}`, "", 5 * time.Minute},
		{"zed", `{"context_servers": {"x": {"command": "x"}}, "context_server_timeout": "no"}`, "", time.Minute},
		{"opencode", `{"mcp": {"x": {"type": "local", "command": ["x"]}}}`, "", time.Minute},
		{"opencode", `{"mcp": {"x": {"type": "local", "command": ["x"]}}, "experimental": {"mcp_timeout": 120000}}`, "", 2 * time.Minute},
		{"opencode", `{"mcp": {"x": {"type": "local", "command": ["x"]}}, "experimental": [120000]}`, "", time.Minute},
	} {
		p := ann.Places(Find(tt.client), func(string) bool { return false })[0]
		servers, err := p.Read([]byte(tt.file))
		if err != nil || len(servers) != 1 {
			t.Fatal(tt.file, servers, err)
		}
		var ours []byte
		if tt.ours != "" {
			ours = []byte(tt.ours)
		}
		found := Merge([]Found{{Server: servers[0], Place: p}})
		out, err := Add("mcp.json", ours, found)
		if err != nil {
			t.Fatal(tt.file, err)
		}
		cfg, err := config.Parse("mcp.json", out)
		if err != nil {
			t.Fatal(tt.file, err)
		}
		if got := cfg.Servers[0].Timeout; got != tt.want {
			t.Errorf("%s %s %s: %v, want %v", tt.client, tt.file, tt.ours, got, tt.want)
		}
		if len(cfg.Warnings) > 0 {
			t.Errorf("%s: %v", tt.file, cfg.Warnings)
		}
		if again, err := Add("mcp.json", out, found); err != nil || string(again) != string(out) || found[0].Outcome != Present {
			t.Errorf("%s: added once more: %v %v\n%s", tt.file, found[0].Outcome, err, again)
		}
	}
}

// TestPatienceOfSeveral: a server that several clients have is one, and a call of it may take
// as long as for the one that waits longest.
func TestPatienceOfSeveral(t *testing.T) {
	var found []Found
	for _, name := range []string{"cline", "gemini", "claude-desktop"} {
		p := ann.Places(Find(name), func(string) bool { return false })[0]
		found = append(found, Found{Server: Server{Name: "x", Entry: Entry{Command: "x"}}, Place: p})
	}
	out, err := Add("mcp.json", nil, Merge(found))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse("mcp.json", out)
	if err != nil || len(cfg.Servers) != 1 || cfg.Servers[0].Timeout != 10*time.Minute {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestLaunchTimeout: the client waits for the proxy as long as it did for any server.
func TestLaunchTimeout(t *testing.T) {
	for _, tt := range []struct {
		client  string
		longest Seconds
		want    int // in the client's unit
	}{
		{"claude-desktop", 3600, 0},
		{"claude-code", 3600, 0},
		{"codex", 0, 0},
		{"codex", 60, 0},
		{"codex", 90.5, 91},
		{"zed", 90, 90},
		{"opencode", 5, 0},
		{"opencode", 20, 60_000}, // for the list of tools; and calls of the other servers had a minute
		{"opencode", 90, 90_000},
	} {
		if got := (Launch{Timeout: tt.longest}).timeout(Find(tt.client)); got != tt.want {
			t.Errorf("%s, %v: %d, want %d", tt.client, tt.longest, got, tt.want)
		}
	}
}

// TestSeconds: a timeout stands in mcp.json so that it is not taken for milliseconds.
func TestSeconds(t *testing.T) {
	for s, want := range map[Seconds]string{0.5: "0.5", 240: "240", 3599.5: "3599.5", 3600: `"1h"`, 5400: `"1h30m"`, 3601: `"1h0m1s"`, 86400: `"24h"`} {
		if got, err := json.Marshal(s); err != nil || string(got) != want {
			t.Errorf("%v: %s %v, want %s", float64(s), got, err, want)
		}
	}
}
