package config

import (
	"fmt"
	"testing"
)

// TestAudit: where calls are logged, and what cannot be meant.
func TestAudit(t *testing.T) {
	for _, tt := range []struct{ file, env, want, wrong string }{
		{``, "", "", ""},
		{`"auditFile": "a.jsonl", "auditMaxSize": "1MiB", "auditFiles": 0, "auditContent": "all"`, "", "/etc/a.jsonl 1048576 0 all", ""},
		{`"auditFile": "-"`, "", "- 104857600 5 none", ""},
		{`"auditFile": "~/a"`, "RLMPROXY_AUDIT_FILES=3", "/home/ann/a 104857600 3 none", ""},
		{`"auditFile": "a"`, "RLMPROXY_AUDIT_FILE=-", "- 104857600 5 none", ""},
		{`"auditFile": ""`, "", "", `mcp.json:1:33: proxySettings.auditFile: expected text, found ""`},
		{`"auditFile": "a", "auditMaxSize": 5`, "", "", `mcp.json:1:54: proxySettings.auditMaxSize: expected bytes, at least 64 KiB, such as 104857600 or "100MiB", found 5`},
		{`"auditFile": "a", "auditFiles": -1`, "", "", `mcp.json:1:52: proxySettings.auditFiles: expected a whole number of at least 0, found -1`},
		{`"auditFile": "a", "auditContent": "some"`, "", "", `mcp.json:1:54: proxySettings.auditContent: expected one of none, arguments, all, found "some"`},
		{`"auditContent": "all"`, "", "", `mcp.json:1:20: proxySettings.auditContent: set without auditFile, so nothing is logged; set both or none`},
		{``, "RLMPROXY_AUDIT_CONTENT=arguments", "", `auditContent: set without auditFile, so nothing is logged; set both or none`},
		{`"auditfile": "a"`, "", "", `mcp.json:1:20: proxySettings.auditfile: unknown key; did you mean "auditFile"?`},
	} {
		data := `{"proxySettings": {` + tt.file + `}, "mcpServers": {"a": {"command": "x"}}}`
		c, err := load("mcp.json", "/etc/mcp.json", []byte(data), Options{Environ: []string{"HOME=/home/ann", "USERPROFILE=/home/ann", tt.env}, Dir: "/srv"})
		if tt.wrong != "" {
			if err == nil || err.Error() != tt.wrong {
				t.Errorf("%s %s:\ngot  %v\nwant %s", tt.file, tt.env, err, tt.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.file, err)
			continue
		}
		if p := c.Proxy; tt.want != "" && tt.want != audited(p) || tt.want == "" && p.AuditFile != "" {
			t.Errorf("%s %s: %s, want %s", tt.file, tt.env, audited(p), tt.want)
		}
	}
}

func audited(p Proxy) string {
	return fmt.Sprint(p.AuditFile, " ", p.AuditMaxSize, " ", p.AuditFiles, " ", p.AuditContent)
}
