package config

import (
	"strings"
	"testing"
)

// TestMetrics: where metrics are served. Their token is a secret, so it is in the
// environment only and never shown.
func TestMetrics(t *testing.T) {
	for _, tt := range []struct{ file, env, want, wrong string }{
		{`"metricsAddress": "9464"`, "", "127.0.0.1:9464 ", ""},
		{`"metricsAddress": ":9464"`, "RLMPROXY_METRICS_TOKEN=hunter2", "127.0.0.1:9464 hunter2", ""},
		{`"metricsAddress": "[::1]:0"`, "", "[::1]:0 ", ""},
		{``, "RLMPROXY_METRICS_ADDRESS=0.0.0.0:1", "0.0.0.0:1 ", ""},
		{`"metricsAddress": "99999"`, "", "", `mcp.json:1:38: proxySettings.metricsAddress: expected a port, or an address such as 127.0.0.1:9464, found "99999"`},
		{`"metricsAddress": "http://a:1"`, "", "", `mcp.json:1:38: proxySettings.metricsAddress: expected a port, or an address such as 127.0.0.1:9464, found "http://a:1"`},
		{`"metricsAddress": 9464`, "", "", `mcp.json:1:38: proxySettings.metricsAddress: expected a string in quotes, found 9464`},
		{`"metricsToken": "hunter2"`, "", "", `mcp.json:1:20: proxySettings.metricsToken: secrets are not allowed in this file; set RLMPROXY_METRICS_TOKEN`},
		{`"metricsToken": "hunter2" 1`, "", "", `mcp.json:1:46: `},
		{`"uiToken": "hunter2"`, "", "", `mcp.json:1:20: proxySettings.uiToken: secrets are not allowed in this file; set RLMPROXY_UI_TOKEN`},
		{`"uiToken": "hunter2" 1`, "", "", `mcp.json:1:41: `},
		{`"metricToken": "hunter2"`, "", "", `mcp.json:1:20: proxySettings.metricToken: unknown key; did you mean "metricsToken"?`},
	} {
		data := `{"proxySettings": {` + tt.file + `}, "mcpServers": {"a": {"command": "x"}}}`
		c, err := load("mcp.json", "/etc/mcp.json", []byte(data), Options{Environ: []string{tt.env}})
		if tt.wrong != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.wrong) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s:\ngot  %v\nwant %s", tt.file, err, tt.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.file, err)
		} else if got := c.Proxy.MetricsAddress + " " + string(c.Proxy.MetricsToken); got != tt.want {
			t.Errorf("%s %s: %s", tt.file, tt.env, got)
		}
	}
}
