// Package fleet runs replicas of the program with one store behind a balancer, as a team
// has them, kills them, and counts what agents see of it.
//
// It needs Debian's package redis-server or valkey-server. Without it the tests are skipped,
// or fail where RLMPROXY_E2E=required.
package fleet

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rlmproxy/e2e/replicas"
)

var binary string // the built program

func TestMain(m *testing.M) {
	if file := os.Getenv(journalVar); file != "" {
		serveStdio(file)
		return
	}
	os.Exit(replicas.Main(m, &binary))
}

// A site is a fleet with its servers.
type site struct {
	*replicas.Fleet
	journal *journal // what the server over stdio was called for
	asker   *asker   // the server over HTTP
}

// siteOptions says how a site differs from three replicas with a store, without tokens.
type siteOptions struct {
	n        int // of replicas; 0 means 3
	noStore  bool
	settings map[string]any // of proxySettings
	agents   []string       // who have a token each; none: no token is needed
}

// openSite starts a site.
func openSite(t *testing.T, opts siteOptions) *site {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &site{journal: &journal{file: filepath.Join(dir, "journal")}, asker: newAsker()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: s.asker}
	go web.Serve(l)
	// It does not wait for what the SDK's server waits for: answers of clients that have gone.
	t.Cleanup(func() { web.Close() })
	config, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{
			"s": map[string]any{"command": self, "env": map[string]string{journalVar: s.journal.file}, "prefix": ""},
			"h": map[string]any{"type": "http", "url": "http://" + l.Addr().String(), "prefix": ""},
		},
		"proxySettings": opts.settings,
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for _, name := range opts.agents {
		tokens = append(tokens, name+":"+tokenOf(name))
	}
	var env []string
	if tokens != nil {
		env = []string{"RLMPROXY_HTTP_TOKENS=" + strings.Join(tokens, ",")}
	}
	if opts.n == 0 {
		opts.n = 3
	}
	s.Fleet = replicas.Start(t, replicas.Options{Binary: binary, N: opts.n, NoStore: opts.noStore, Env: env,
		Args: []string{"serve", "--config", path}})
	return s
}

func tokenOf(agent string) string { return "0123456789abcdef-" + agent }
