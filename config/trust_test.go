package config

import (
	"strings"
	"testing"
)

// TestTrust: what is said of servers and of all of them, and what contradicts itself.
func TestTrust(t *testing.T) {
	for _, tt := range []struct{ server, proxy, want string }{
		{`"quarantine": true`, `"quarantine": true, "trustHints": false, "stateDir": "state"`, ""},
		{`"pinTools": false`, `"quarantine": true`, ""},
		{`"pinTools": true, "quarantine": true`, `"pinTools": false`, ""},
		{`"pinTools": false, "quarantine": true`, ``, `mcp.json:1:72: mcpServers.a.quarantine: it needs pinTools; it keeps accepted tools as pins: leave pinTools on, or quarantine off`},
		{`"quarantine": true`, `"pinTools": false`, `mcpServers.a.quarantine: it needs pinTools; it keeps accepted tools as pins: leave pinTools on, or quarantine off`},
		{``, `"pinTools": false, "quarantine": true`, `quarantine: it needs pinTools; it keeps accepted tools as pins: leave pinTools on, or quarantine off`},
		{`"trustHints": "yes"`, ``, `mcp.json:1:53: mcpServers.a.trustHints: expected true or false, found "yes"`},
		{``, `"freshCalls": "maybe"`, `expected one of ask, readonly, all, none, found "maybe"`},
		{``, `"trustHints": 3`, `expected true or false, found 3`},
	} {
		server := `"command": "x"`
		if tt.server != "" {
			server += ", " + tt.server
		}
		c, err := load("mcp.json", "/etc/rlmproxy/mcp.json", []byte(`{"mcpServers": {"a": {`+server+`}}, "proxySettings": {`+tt.proxy+`}}`), Options{})
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tt.want)):
			t.Errorf("%s, %s: %v, want %s", tt.server, tt.proxy, err, tt.want)
		case err == nil && strings.Contains(tt.proxy, "stateDir") && (c.Proxy.StateDir != "/etc/rlmproxy/state" || *c.Proxy.TrustHints || !c.Proxy.Quarantine):
			t.Errorf("%+v", c.Proxy)
		case err == nil && !strings.Contains(tt.proxy, "trustHints") && c.Proxy.TrustHints != nil:
			t.Error("trustHints is set")
		}
	}
	c, err := load("mcp.json", "/etc/rlmproxy/mcp.json", []byte(`{"mcpServers": {"a": {"command": "x"}}}`),
		Options{Environ: []string{"RLMPROXY_TRUST_HINTS=true", "RLMPROXY_PIN_TOOLS=false", "RLMPROXY_STATE_DIR=/var/x"}})
	if err != nil || !*c.Proxy.TrustHints || c.Proxy.PinTools || c.Proxy.StateDir != "/var/x" {
		t.Errorf("%+v, %v", c, err)
	}
}
