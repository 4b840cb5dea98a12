package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// TestHTTPSettings reads them from each layer. Relative paths start from the
// folder of the file, or that of the process.
func TestHTTPSettings(t *testing.T) {
	tests := []struct {
		name, file, env, arg string
		want                 Proxy
	}{
		{"file", `"httpTokensFile": "tokens", "httpJWTIssuer": "https://a.example.com", "httpJWTAudience": "api://x", "httpJWTKeysURL": "https://a.example.com/k?v=1",
			"httpJWTAgentClaim": "email", "httpPublicURL": "http://10.0.0.1/mcp", "httpAllowedHosts": ["a", "b:1, c"], "httpAllowedOrigins": "https://x, vscode-webview://y"`, "", "",
			proxy(func(p *Proxy) {
				p.HTTPTokensFile, p.HTTPJWTIssuer, p.HTTPJWTAudience, p.HTTPJWTKeysURL = "/etc/tokens", "https://a.example.com", "api://x", "https://a.example.com/k?v=1"
				p.HTTPJWTAgentClaim, p.HTTPPublicURL = "email", "http://10.0.0.1/mcp"
				p.HTTPAllowedHosts, p.HTTPAllowedOrigins = []string{"a", "b:1", "c"}, []string{"https://x", "vscode-webview://y"}
			})},
		{"secrets", ``, "RLMPROXY_HTTP_TOKENS=a: hunter2", "", proxy(func(p *Proxy) { p.HTTPTokens = "a: hunter2" })},
		{"path of the environment", `"httpTokensFile": "/x"`, "RLMPROXY_HTTP_TOKENS_FILE=y", "", proxy(func(p *Proxy) { p.HTTPTokensFile = "/srv/y" })},
		{"path of a flag", ``, "", "--http-tokens-file=../y", proxy(func(p *Proxy) { p.HTTPTokensFile = "/y" })},
		{"path in the home folder", `"httpTokensFile": "~/y"`, "", "", proxy(func(p *Proxy) { p.HTTPTokensFile = "/home/ann/y" })},
		{"list of a flag over one of the file", `"httpAllowedHosts": ["a", "b"]`, "", "--http-allowed-hosts=c,d", proxy(func(p *Proxy) { p.HTTPAllowedHosts = []string{"c", "d"} })},
		{"session times", `"sessionIdleSeconds": "2h"`, "RLMPROXY_SESSION_RESUME_SECONDS=1", "", proxy(func(p *Proxy) { p.SessionIdle, p.SessionResume = 2*time.Hour, time.Second })},
		{"empty list", `"httpAllowedHosts": []`, "", "", proxy(func(p *Proxy) { p.HTTPAllowedHosts = []string{} })},
		{"issuer of one layer, audience of another", `"httpJWTIssuer": "https://a"`, "RLMPROXY_HTTP_JWT_AUDIENCE=x", "", proxy(func(p *Proxy) { p.HTTPJWTIssuer, p.HTTPJWTAudience = "https://a", "x" })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			RegisterFlags(flags)
			if tt.arg != "" {
				if err := flags.Parse([]string{tt.arg}); err != nil {
					t.Fatal(err)
				}
			}
			data := `{"mcpServers": {"a": {"command": "x"}}, "proxySettings": {` + tt.file + `}}`
			c, err := load("mcp.json", "/etc/mcp.json", []byte(data), Options{Environ: []string{"HOME=/home/ann", tt.env}, Flags: flags, Dir: "/srv"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, c.Proxy); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHTTPMistakes(t *testing.T) {
	tests := []struct{ file, env, want string }{
		{`"httpTokens": "a: hunter2"`, "", "mcp.json:1:20: proxySettings.httpTokens: secrets are not allowed in this file; set RLMPROXY_HTTP_TOKENS, or name a file of tokens in httpTokensFile"},
		{`"sessionIdleSeconds": 0.5`, "", `mcp.json:1:42: proxySettings.sessionIdleSeconds: expected seconds from 1 to 2592000, such as 90 or "1m30s", found 0.5`},
		{``, "RLMPROXY_SESSION_RESUME_SECONDS=11m", `RLMPROXY_SESSION_RESUME_SECONDS: expected seconds from 1 to 600, such as 90 or "1m30s", found "11m"`},
		{`"httpTokens": ["a: hunter2"]`, "", "mcp.json:1:20: proxySettings.httpTokens: secrets are not allowed in this file; set RLMPROXY_HTTP_TOKENS, or name a file of tokens in httpTokensFile"},
		{`"httpToken": "a: hunter2"`, "", `mcp.json:1:20: proxySettings.httpToken: unknown key; did you mean "httpTokens"?`},
		{`"httpJwtIssuer": "https://a"`, "", `mcp.json:1:20: proxySettings.httpJwtIssuer: unknown key; did you mean "httpJWTIssuer"?`},
		{`"httpJWTIssuer": "hunter2"`, "", "mcp.json:1:37: proxySettings.httpJWTIssuer: expected a URL such as https://example.com, found a string"},
		{`"httpJWTIssuer": "https://me:hunter2@a"`, "", "mcp.json:1:37: proxySettings.httpJWTIssuer: expected a URL such as https://example.com, found a string"},
		{``, "RLMPROXY_HTTP_JWT_ISSUER=ftp://hunter2", "RLMPROXY_HTTP_JWT_ISSUER: expected a URL such as https://example.com, found something else"},
		{``, "RLMPROXY_HTTP_TOKENS= ", "RLMPROXY_HTTP_TOKENS: expected text, found something else"},
		{`"httpTokensFile": 7`, "", "mcp.json:1:38: proxySettings.httpTokensFile: expected a string in quotes, found 7"},
		{`"httpJWTAudience": ["a"]`, "", "mcp.json:1:39: proxySettings.httpJWTAudience: expected a string in quotes, found an array"},
		{`"httpAllowedHosts": 7`, "", "mcp.json:1:40: proxySettings.httpAllowedHosts: expected an array of strings, found 7"},
		{`"httpAllowedHosts": ["a", 7]`, "", "mcp.json:1:46: proxySettings.httpAllowedHosts[1]: expected a string in quotes, found 7"},
		{`"httpAllowedHosts": ["a", "*"]`, "", `mcp.json:1:46: proxySettings.httpAllowedHosts[1]: expected a name such as "mcp.example.com" or "mcp.example.com:8080", found "*"`},
		{`"httpAllowedOrigins": "a"`, "", `mcp.json:1:42: proxySettings.httpAllowedOrigins: expected an origin such as "https://inspector.example.com", found "a"`},
		{`"httpJWTAudience": "x"`, "", "mcp.json:1:20: proxySettings.httpJWTAudience: set without httpJWTIssuer, so no token is verified; set both or none"},
		{``, "RLMPROXY_HTTP_JWT_KEYS_URL=https://a", "httpJWTKeysURL: set without httpJWTIssuer, so no token is verified; set both or none"},
		{`"httpJWTAgentClaim": "email"`, "", "mcp.json:1:20: proxySettings.httpJWTAgentClaim: set without httpJWTIssuer, so no token is verified; set both or none"},
	}
	for _, tt := range tests {
		data := `{"proxySettings": {` + tt.file + `}, "mcpServers": {"a": {"command": "x"}}}`
		_, err := load("mcp.json", "/etc/mcp.json", []byte(data), Options{Environ: []string{tt.env}})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s %s:\ngot  %v\nwant %s", tt.file, tt.env, err, tt.want)
		}
	}
	// A file that is not JSON, with a secret where it does not belong.
	for _, data := range []string{`{"proxySettings": {"httpTokens": "hunter2" 1}}`, "{\"proxySettings\": {\"httpTokens\": [\n\"hunter2\" 1]}}", `{"proxySettings": {"httpTokens": "hunter2`} {
		_, err := load("mcp.json", "/etc/mcp.json", []byte(data), Options{})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// TestSecretsAreNoFlags: whoever may list processes sees flags.
func TestSecretsAreNoFlags(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	RegisterFlags(flags)
	for _, s := range Settings() {
		if (flags.Lookup(s.Flag()) == nil) != s.EnvOnly() {
			t.Errorf("%s: flag %v", s.Name, flags.Lookup(s.Flag()))
		}
	}
	if err := flags.Parse([]string{"--http-tokens=hunter2"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
	// Not even one that the caller registers.
	flags = pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("http-tokens", "", "")
	if err := flags.Parse([]string{"--http-tokens=hunter2"}); err != nil {
		t.Fatal(err)
	}
	if p, _, _ := layered(nil, Options{Flags: flags}); p.HTTPTokens != "" {
		t.Error("a flag sets httpTokens")
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	p := Proxy{HTTPTokens: "a: hunter2"}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(p), fmt.Sprintf("%+v %#v %q %x", p, p, p.HTTPTokens, p.HTTPTokens), string(data)} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) || !strings.Contains(text, "(not shown)") {
			t.Errorf("printed as %s", text)
		}
	}
}
