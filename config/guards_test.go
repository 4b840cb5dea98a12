package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// loadEntry loads a file with one server, whose entry begins at column 23.
func loadEntry(entry string) (*Config, error) {
	return load("mcp.json", "/etc/mcp.json", []byte(`{"mcpServers": {"a": {`+entry+`}}}`), Options{Environ: []string{"TOKEN=hunter2", "AWS_KEY=hunter3"}})
}

// TestNearlyOurs: who writes "denny" believes that a tool is denied. Such keys were
// warnings, and the tool was served.
func TestNearlyOurs(t *testing.T) {
	for _, tt := range []struct{ key, meant string }{
		{"denny", "deny"}, {"Deny", "deny"}, {"DENY", "deny"}, {"dney", "deny"}, {"deny_", "deny"}, {"denyTools", "deny"}, {"denylist", "deny"},
		{"hde", "hide"}, {"hidden", "hide"}, {"hideFields", "hide"}, {"isolaton", "isolation"}, {"isolated", "isolation"}, {"redcat", "redact"}, {"redacted", "redact"}, {"redactSecrets", "redact"}, {"alow", "allow"}, {"allowlist", "allow"},
		{"freshCall", "freshCalls"}, {"fresh_calls", "freshCalls"}, {"disable", "disabled"}, {"tool", "tools"}, {"max_processes", "maxProcesses"},
		{"inherit_env", "inheritEnv"}, {"evn", "env"}, {"header", "headers"}, {"timeOut", "timeout"}, {"excludedTools", "excludeTools"}, {"disabledTool", "disabledTools"},
	} {
		_, err := loadEntry(`"command": "x", "` + tt.key + `": ["hunter2"]`)
		if want := `mcp.json:1:39: mcpServers.a.` + tt.key + `: unknown key; did you mean "` + tt.meant + `"?`; err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", tt.key, err, want)
		}
	}
}

// TestKeysOfClients: what clients write in their entries passes; what is far from
// anything that we know is warned of.
func TestKeysOfClients(t *testing.T) {
	for _, tt := range []struct{ client, entry, warning string }{
		{"Claude Code", `"alwaysLoad": true, "oauth": {"clientId": "x"}, "timeout": 60`, ""},
		{"Claude Code's helper", `"headersHelper": "./token.sh"`, "mcp.json:1:39: mcpServers.a.headersHelper: ignored; put what it prints in headers"},
		{"Cursor", `"auth": {"CLIENT_ID": "x"}, "envFile": ".env"`, ""},
		{"VS Code", `"dev": {"watch": "*"}, "gallery": "x", "version": "1", "sandboxEnabled": true, "sandbox": {}`, ""},
		{"Windsurf", `"disabledTools": [], "disabled": false`, ""},
		{"Cline", `"autoApprove": ["x"], "timeout": 60, "disabled": false, "transportType": "stdio"`, ""},
		{"Roo", `"alwaysAllow": ["x"], "disabledTools": ["y"], "watchPaths": ["z"]`, ""},
		{"Zed", `"source": "custom", "settings": {}, "enabled": true`, ""},
		{"Gemini", `"trust": true, "description": "x", "includeTools": [], "excludeTools": [], "extension": {}, "authProviderType": "x", "targetAudience": "y", "targetServiceAccount": "z"`, ""},
		{"Codex", `"enabled_tools": ["x"], "disabled_tools": ["y"], "startup_timeout_sec": 1, "tool_timeout_sec": 2, "required": true, "env_vars": ["TOKEN"]`, ""},
		{"Kiro", `"autoApprove": [], "disabledTools": [], "oauthScopes": []`, ""},
		{"Copilot", `"tools": ["*"], "isDefaultServer": true`, ""},
		{"notes", `"icon": "x", "title": "y", "note": "z", "comment": "c", "//": "d", "tags": []`, ""},
		{"far off", `"colour": "blue"`, "mcp.json:1:39: mcpServers.a.colour: unknown key, ignored"},
		{"nearly a client's", `"autoAprove": []`, `mcp.json:1:39: mcpServers.a.autoAprove: unknown key, ignored; did you mean "autoApprove"?`},
	} {
		c, err := loadEntry(`"command": "x", ` + tt.entry)
		if err != nil {
			t.Errorf("%s: %v", tt.client, err)
		} else if got := strings.Join(c.Warnings, "\n"); got != tt.warning {
			t.Errorf("%s:\n got %s\nwant %s", tt.client, got, tt.warning)
		}
	}
	c, err := loadEntry(`"command": "x", "isActive": false, "disabled_tools": ["y"], "enabled_tools": ["z"]`)
	if err != nil || !c.Servers[0].Disabled || c.Servers[0].Deny[0] != "y" || c.Servers[0].Allow[0] != "z" {
		t.Errorf("%v, %+v", err, c)
	}
}

// TestNearlyOurSection: the settings of a misspelt section were not read, with a warning.
func TestNearlyOurSection(t *testing.T) {
	_, err := load("mcp.json", "/mcp.json", []byte(`{"mcpServers": {"a": {"command": "x"}}, "proxySetings": {"httpTokensFile": "x"}, "globalShortcut": "y"}`), Options{})
	if want := `mcp.json:1:41: proxySetings: unknown key; did you mean "proxySettings"?`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestSettingOutOfPlace: a setting beside mcpServers was passed over without a word, one that
// guards too.
func TestSettingOutOfPlace(t *testing.T) {
	for _, setting := range []string{`"redact": "on"`, `"pinTools": true`, `"freshCalls": "none"`, `"httpTokensFile": "x"`, `"enableAgentIsolation": true`, `"logLevel": "debug"`} {
		_, err := load("mcp.json", "/mcp.json", []byte(`{"mcpServers": {"a": {"command": "x"}}, `+setting+`}`), Options{})
		name := strings.Split(setting, `"`)[1]
		want := `mcp.json:1:41: ` + name + `: it has no effect here; write settings in "proxySettings"`
		if name == "logLevel" {
			want = "<nil>"
		}
		if fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestStanding: what is wrong with a standing program, field or glob has a place in the
// file. It stopped the start without one, or each call.
func TestStanding(t *testing.T) {
	for _, tt := range []struct{ entry, want string }{
		{`"redact": true`, `mcp.json:1:49: mcpServers.a.redact: expected one of on, off, report, found true`},
		{`"redact": "yes"`, `mcp.json:1:49: mcpServers.a.redact: expected one of on, off, report, found "yes"`},
		{`"hide": ["a", "b[0]"]`, `mcp.json:1:53: mcpServers.a.hide[1]: hide "b[0]": it has an index; name the field without an index`},
		{`"hide": [""]`, `mcp.json:1:48: mcpServers.a.hide[0]: hide "": it names no field; name a field`},
		{`"tools": {"t": {"hide": ["a..b"]}}`, `mcp.json:1:64: mcpServers.a.tools.t.hide[0]: path "a..b": empty key at character 3; write paths like items.user.name, and keys with dots like items["a.b"].c`},
		{`"tools": {"t": {"fields": ["a..b"]}}`, `mcp.json:1:66: mcpServers.a.tools.t.fields[0]: path "a..b": empty key at character 3; write paths like items.user.name, and keys with dots like items["a.b"].c`},
		{`"tools": {"t": {"exclude": [""]}}`, `mcp.json:1:67: mcpServers.a.tools.t.exclude[0]: a field name is empty`},
		{`"tools": {"t": {"jq": ".a]"}}`, "mcp.json:1:61: mcpServers.a.tools.t.jq: jq: unexpected token \"]\"\n    .a]\n      ^"},
		{`"tools": {"t": {"jq": "nosuch(1)"}}`, "mcp.json:1:61: mcpServers.a.tools.t.jq: jq: function not defined: nosuch/1"},
		{`"tools": {"t": {"jq": " "}}`, "mcp.json:1:61: mcpServers.a.tools.t.jq: an empty jq program; leave jq out"},
		{`"tools": {"": {}}`, `mcp.json:1:49: mcpServers.a.tools."": an empty glob, which no name matches; ` + globHint},
		{`"deny": ["x", "[a-"]`, `mcp.json:1:53: mcpServers.a.deny[1]: not a glob: "[a-"; ` + globHint},
		{`"allow": [""]`, `mcp.json:1:49: mcpServers.a.allow[0]: an empty glob, which no name matches; ` + globHint},
		{`"freshCalls": ["a\\"]`, `mcp.json:1:54: mcpServers.a.freshCalls[0]: not a glob: "a\\"; ` + globHint},
	} {
		if _, err := loadEntry(`"command": "x", ` + tt.entry); err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.entry, err, tt.want)
		}
	}
}

// TestBounds: absurd values were taken as they are.
func TestBounds(t *testing.T) {
	for _, tt := range []struct{ setting, want string }{
		{`"maxMemory": 1`, `mcp.json:1:33: proxySettings.maxMemory: expected bytes, at least 1 MiB, such as 104857600 or "100MiB", found 1`},
		{`"maxMemoryPerAgent": "2PiB"`, `mcp.json:1:41: proxySettings.maxMemoryPerAgent: expected at most 1 TiB, found "2PiB"`},
		{`"maxResponseTokens": 1`, `mcp.json:1:41: proxySettings.maxResponseTokens: expected a whole number of at least 50, found 1`},
		{`"maxResponseSize": 5`, `mcp.json:1:39: proxySettings.maxResponseSize: expected 0, or a whole number of at least 200, found 5`},
		{`"maxTotalAgents": 2000000000`, `mcp.json:1:38: proxySettings.maxTotalAgents: expected a whole number of at most 1000000, found 2000000000`},
		{`"callTimeout": 1e-9`, `mcp.json:1:35: proxySettings.callTimeout: expected seconds from 0.1 to 86400, such as 90 or "1m30s", found 1e-9`},
		{`"jqTimeout": "2h"`, `mcp.json:1:33: proxySettings.jqTimeout: expected seconds from 0.01 to 3600, such as 90 or "1m30s", found "2h"`},
		{`"httpAllowedHosts": ["a:99999"]`, `mcp.json:1:41: proxySettings.httpAllowedHosts[0]: expected a name such as "mcp.example.com" or "mcp.example.com:8080", found "a:99999"`},
		{`"httpPublicURL": "https://a:99999/mcp"`, `mcp.json:1:37: proxySettings.httpPublicURL: expected a URL such as https://example.com, found a string`},
	} {
		_, err := load("mcp.json", "/mcp.json", []byte(`{"proxySettings": {`+tt.setting+`}, "mcpServers": {"a": {"command": "x"}}}`), Options{})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.setting, err, tt.want)
		}
	}
	for _, tt := range []struct{ entry, want string }{
		{`"url": "http://x:99999/mcp"`, `mcp.json:1:30: mcpServers.a.url: expected a URL such as https://example.com/mcp, found the port "99999"; a port is at most 65535`},
		{`"url": "http://:80/mcp"`, `mcp.json:1:30: mcpServers.a.url: expected a URL such as https://example.com/mcp, found one without a host`},
		{`"command": "x", "env": {"TOKEN=hunter2": "y"}`, `mcp.json:1:47: mcpServers.a.env: not the name of a variable; a name has no space and no =`},
		{`"command": "x", "env": {"": "hunter2"}`, `mcp.json:1:47: mcpServers.a.env: not the name of a variable; a name has no space and no =`},
		{`"command": "x", "env": {"A": "hunter2\u0000"}`, `mcp.json:1:46: mcpServers.a.env.A: it has a zero byte, which cannot be passed to a program`},
		{`"command": "x", "args": ["a\u0000"]`, `mcp.json:1:47: mcpServers.a.args[0]: it has a zero byte, which cannot be passed to a program`},
		{`"command": "x", "timeout": 0.001`, `mcp.json:1:50: mcpServers.a.timeout: expected seconds from 0.1 to 31536000, such as 90 or "1m30s", found 0.001`},
		{`"command": "x", "maxProcesses": 1e9`, `mcp.json:1:55: mcpServers.a.maxProcesses: expected a whole number of at most 10000, found 1e9`},
		{`"command": "x", "maxResponseTokens": 3`, `mcp.json:1:60: mcpServers.a.maxResponseTokens: expected 0, or a whole number of at least 50, found 3`},
		{`"command": "x", "prefix": "` + strings.Repeat("x", 65) + `"`, `mcp.json:1:49: mcpServers.a.prefix: a prefix has 65 characters; 64 are allowed`},
	} {
		if _, err := loadEntry(tt.entry); err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.entry, err, tt.want)
		}
	}
}

func TestInheritEnv(t *testing.T) {
	for _, tt := range []struct {
		value    string
		want     []string
		err, was string
	}{
		{`true`, []string{"*"}, "", ""},
		{`false`, nil, "", ""},
		{`["TOKEN", "AWS_*"]`, []string{"TOKEN", "AWS_*"}, "", ""},
		{`["TOKN"]`, []string{"TOKN"}, "", `mcp.json:1:54: mcpServers.a.inheritEnv[0]: not set here: "TOKN"`},
		{`"TOKEN"`, nil, `mcp.json:1:53: mcpServers.a.inheritEnv: expected true, false or an array of names, found "TOKEN"; names are in brackets: ["GITHUB_TOKEN", "AWS_*"]`, ""},
		{`["A=hunter2"]`, nil, `mcp.json:1:54: mcpServers.a.inheritEnv[0]: expected the name of a variable, found a string; write values in env`, ""},
		{`["[a-"]`, nil, `mcp.json:1:54: mcpServers.a.inheritEnv[0]: not a glob: "[a-"; ` + globHint, ""},
	} {
		c, err := loadEntry(`"command": "x", "inheritEnv": ` + tt.value)
		switch {
		case tt.err != "" || err != nil:
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s:\n got %v\nwant %s", tt.value, err, tt.err)
			}
		case cmp.Diff(tt.want, c.Servers[0].InheritEnv) != "" || strings.Join(c.Warnings, "\n") != tt.was:
			t.Errorf("%s: %q, %q", tt.value, c.Servers[0].InheritEnv, c.Warnings)
		}
	}
}

// TestNoFile: what is no file is refused. A named pipe was opened, which waited for a
// writer for ever.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	paths := []string{pipe}
	if !makePipe(t, pipe) {
		paths = nil
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		paths = append(paths, "/dev/zero")
	}
	for _, path := range paths {
		failed := make(chan error, 1)
		go func() {
			_, err := Load(Options{Path: path})
			failed <- err
		}()
		select {
		case err := <-failed:
			if want := path + ": a pipe, socket or device, not a file; write its content to a file, and name that"; err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: nobody writes, and it waits", path)
		}
	}
}

func TestInheritEnvOfWrongType(t *testing.T) {
	_, err := loadEntry(`"command": "x", "inheritEnv": ["TOKEN", 7]`)
	if want := `mcp.json:1:63: mcpServers.a.inheritEnv[1]: expected a string in quotes, found 7`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
