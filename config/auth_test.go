package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAuth reads auth as we write it and as other hosts do. A secret is in no message.
func TestAuth(t *testing.T) {
	for name, tt := range map[string]struct {
		auth     string // what stands in the entry
		want     Auth
		mistake  string
		warnings int
	}{
		"none":               {},
		"all":                {auth: `"auth": {"clientId": "a", "clientSecret": "${S}", "issuer": "https://i.example", "scopes": ["r"], "redirectPort": 8080, "grant": "authorization_code"}`, want: Auth{ClientID: "a", ClientSecret: "SECRET", Issuer: "https://i.example", Scopes: []string{"r"}, RedirectPort: 8080}},
		"a machine":          {auth: `"auth": {"clientId": "a", "clientSecret": "b", "grant": "client_credentials"}`, want: Auth{ClientID: "a", ClientSecret: "b", ClientCredentials: true}},
		"a document":         {auth: `"auth": {"clientMetadataURL": "https://example.com/r.json"}`, want: Auth{ClientMetadataURL: "https://example.com/r.json"}},
		"Cursor":             {auth: `"auth": {"CLIENT_ID": "a", "CLIENT_SECRET": "${S}", "scopes": ["r"]}`, want: Auth{ClientID: "a", ClientSecret: "SECRET", Scopes: []string{"r"}}},
		"Claude Code":        {auth: `"oauth": {"clientId": "a", "callbackPort": 8080}`, want: Auth{ClientID: "a", RedirectPort: 8080}},
		"Gemini":             {auth: `"oauth": {"enabled": true, "clientId": "a", "redirectUri": "http://x", "tokenUrl": "http://x"}`, want: Auth{ClientID: "a"}, warnings: 3},
		"another shape":      {auth: `"auth": "oauth"`, warnings: 1},
		"beside a header":    {auth: `"auth": {"clientId": "a"}, "headers": {"authorization": "x"}`, want: Auth{ClientID: "a"}, warnings: 1},
		"a slip":             {auth: `"auth": {"clientID_": "SECRET"}`, mistake: `auth.clientID_: unknown key; did you mean "clientId"?`},
		"a secret alone":     {auth: `"auth": {"clientSecret": "SECRET"}`, mistake: "clientSecret without clientId"},
		"a machine without":  {auth: `"auth": {"grant": "client_credentials"}`, mistake: "needs clientId and clientSecret"},
		"another grant":      {auth: `"auth": {"grant": "password"}`, mistake: "expected one of authorization_code, client_credentials"},
		"a document at root": {auth: `"auth": {"clientMetadataURL": "https://example.com"}`, mistake: "expected a URL such as"},
		"a number":           {auth: `"auth": {"clientId": "a", "clientSecret": 12345}`, mistake: "found a number"},
		"a port":             {auth: `"auth": {"redirectPort": 70000}`, mistake: "redirectPort"},
	} {
		t.Run(name, func(t *testing.T) {
			entry := `{"mcpServers": {"a": {"url": "https://example.com/mcp"`
			if tt.auth != "" {
				entry += ", " + tt.auth
			}
			cfg, err := load("mcp.json", "/mcp.json", []byte(entry+"}}}"), Options{Environ: []string{"S=SECRET"}})
			if tt.mistake != "" {
				if err == nil || !strings.Contains(err.Error(), tt.mistake) || strings.Contains(err.Error(), "SECRET") {
					t.Errorf("error %v, want %q", err, tt.mistake)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, cfg.Servers[0].Auth); diff != "" {
				t.Error(diff)
			}
			if len(cfg.Warnings) != tt.warnings || strings.Contains(strings.Join(cfg.Warnings, ""), "SECRET") {
				t.Errorf("warnings %q", cfg.Warnings)
			}
		})
	}
}
