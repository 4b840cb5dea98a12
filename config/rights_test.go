package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loadSettings loads a file with one server and these settings.
func loadSettings(settings string) (*Config, error) {
	return load("mcp.json", "/mcp.json", []byte(`{"proxySettings": {`+settings+`}, "mcpServers": {"a": {"command": "x"}}}`), Options{})
}

func TestRights(t *testing.T) {
	c, err := loadSettings(`"httpJWTIssuer": "https://a.example.com",
		"agents": {"alice": {"allow": ["a_*"], "deny": ["a_delete*"]}, "none": {"allow": []}, "jwt:ann@example.com": {}, "*": {"comment": "x", "deny": ["b"]}, "//": "y"},
		"scopes": {"files.read": {"allow": ["a_read"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]Rights{"alice": {[]string{"a_*"}, []string{"a_delete*"}}, "none": {Allow: []string{}}, "jwt:ann@example.com": {}, "*": {Deny: []string{"b"}}}, c.Agents); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]Rights{"files.read": {Allow: []string{"a_read"}}}, c.Scopes); diff != "" {
		t.Error(diff)
	}
	if c, err := loadSettings(""); err != nil || c.Agents != nil || c.Scopes != nil {
		t.Errorf("%v %v", c, err)
	}
	if c, err := loadSettings(`"agents": {}`); err != nil || c.Agents == nil {
		t.Errorf("an empty section is there: %v %v", c, err)
	}
}

// TestRightsMistakes: a slip in what guards stops the start.
func TestRightsMistakes(t *testing.T) {
	const issuer = `"httpJWTIssuer": "https://a.example.com", `
	for _, tt := range []struct{ settings, want string }{
		{`"agent": {}`, `mcp.json:1:20: proxySettings.agent: unknown key; did you mean "agents"?`},
		{`"agents": null`, `mcp.json:1:30: proxySettings.agents: expected something other than null, found null; leave the key out, or give it a value`},
		{`"agents": []`, `mcp.json:1:30: proxySettings.agents: expected an object, found an array`},
		{`"agents": {"": {}}`, `mcp.json:1:31: proxySettings.agents."": not the name of an agent: expected printable characters, at most 259 bytes; "*" stands for all agents that are not named`},
		{`"agents": {"a\n": {}}`, `mcp.json:1:31: proxySettings.agents."a\n": not the name of an agent: expected printable characters, at most 259 bytes; "*" stands for all agents that are not named`},
		{`"agents": {"a": null}`, `mcp.json:1:36: proxySettings.agents.a: expected something other than null, found null; leave the key out, or give it a value`},
		{`"agents": {"a": ["x"]}`, `mcp.json:1:36: proxySettings.agents.a: expected an object, found an array`},
		{`"agents": {"a": {"alow": ["x"]}}`, `mcp.json:1:37: proxySettings.agents.a.alow: unknown key; did you mean "allow"?`},
		{`"agents": {"a": {"allow": null}}`, `mcp.json:1:46: proxySettings.agents.a.allow: expected something other than null, found null; leave the key out, or give it a value`},
		{`"agents": {"a": {"allow": "x"}}`, `mcp.json:1:46: proxySettings.agents.a.allow: expected an array of strings, found "x"; write it in brackets: ["one", "two"]`},
		{`"agents": {"a": {"deny": ["[x"]}}`, `mcp.json:1:46: proxySettings.agents.a.deny[0]: not a glob: "[x"; ` + globHint},
		{`"agents": {"a": {"deny": [""]}}`, `mcp.json:1:46: proxySettings.agents.a.deny[0]: an empty glob, which no name matches; ` + globHint},
		{`"agents": {"a": {}, "a": {}}`, `mcp.json:1:40: proxySettings.agents.a: the key is there twice, first on line 1`},
		{issuer + `"scopes": {"*": {}}`, `mcp.json:1:73: proxySettings.scopes."*": "*" is not a scope; write what every agent may use in agents, under "*"`},
		{issuer + `"scopes": {"a b": {}}`, `mcp.json:1:73: proxySettings.scopes."a b": not a scope: a scope has no space and no quote, and is not empty; write one entry for each scope`},
		{`"scopes": {"a": {}}`, `mcp.json:1:20: proxySettings.scopes: set without httpJWTIssuer: only its tokens have scopes; set both, or write in agents who may use what`},
		{`}, "agents": {"a": {"deny": ["x"]}`, `mcp.json:1:23: agents: it restricts nothing here; ` + rightsPlace},
		{`}, "scopes": {"a": {"allow": ["x"]}`, `mcp.json:1:23: scopes: it restricts nothing here; ` + rightsPlace},
		{`}, "agents": {"overrides": {"x": {}}`, ""},
	} {
		if _, err := loadSettings(tt.settings); tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
			t.Errorf("%s:\n got %v\nwant %s", tt.settings, err, tt.want)
		}
	}
}
