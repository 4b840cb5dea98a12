//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rlmproxy/fleet/fleettest"
)

// TestTrustOfReplicas: what one replica has pinned, every one holds its servers to, and what
// the operator accepts on any machine counts for all. Pins from before there were replicas count.
func TestTrustOfReplicas(t *testing.T) {
	tr := newTrial(t, "")
	machine := func(name string) { t.Setenv("RLMPROXY_STATE_DIR", filepath.Join(tr.dir, name)) }
	machine("one")
	tr.tools("read: Reads.", "list: Lists.")
	if names, _ := tr.serve("fs_read"); names != "fs_list fs_read " {
		t.Fatalf("first sight: %s", names)
	}
	server := fleettest.Start(t)
	t.Setenv("RLMPROXY_CACHE_URL", server.URL)
	if names, _ := tr.serve("fs_read"); names != "fs_list fs_read " {
		t.Errorf("the first replica: %s", names)
	}
	machine("two")
	tr.tools("read: Reads more.", "list: Lists.")
	names, text := tr.serve("fs_read")
	review := "rlmproxy trust review --config " + tr.file + " --state-dir " + filepath.Join(tr.dir, "two") + " fs"
	if names != "fs_list " || !strings.Contains(text, "fs_read is held back: its definition has changed since it was pinned (description)") || !strings.Contains(text, review) {
		t.Errorf("at another replica: %s, %s", names, text)
	}
	if got := tr.run("call", "fs_read"); !strings.Contains(got, "held_back") {
		t.Errorf("call: %s", got)
	}
	t.Setenv("RLMPROXY_CACHE_URL", server.AdminURL()) // as a user who may ask what is saved
	if got := tr.run("doctor"); !strings.Contains(got, "fs: held back until you accept them: fs_read") || !strings.Contains(got, "it writes nothing to disk") {
		t.Errorf("doctor: %s", got)
	}
	t.Setenv("RLMPROXY_CACHE_URL", server.URL)
	machine("operator")
	if got := tr.run("trust", "review"); !strings.Contains(got, "fs/read: its definition has changed") || !strings.Contains(got, "1 tool held back, 2 tools pinned in the shared store\nservers: fs\n") {
		t.Errorf("review: %s", got)
	}
	if got := tr.run("trust", "accept", "fs/read"); got != "accepted fs/read: its definition has changed since it was pinned (description)\nexit 0" {
		t.Errorf("accept: %s", got)
	}
	machine("one")
	if names, text := tr.serve("fs_read"); names != "fs_list fs_read " || text != "did read" {
		t.Errorf("accepted: %s, %s", names, text)
	}
	machine("operator")
	if got := tr.run("trust", "forget", "fs"); got != "forgot the tools of fs\nexit 0" {
		t.Errorf("forget: %s", got)
	}
	if got := tr.run("trust", "review"); got != "0 tools held back, 0 tools pinned in the shared store\nexit 0" {
		t.Errorf("review of nothing: %s", got)
	}
	server.Kill()
	if got := tr.run("trust", "review"); !strings.HasPrefix(got, "rlmproxy: error: the shared store (cacheURL) cannot be used: ") || !strings.HasSuffix(got, "exit 1") {
		t.Errorf("while the store is away: %s", got)
	}
	if got := tr.run("doctor"); !strings.Contains(got, "fault    store") || !strings.Contains(got, "start it, or correct cacheURL") || !strings.HasSuffix(got, "exit 1") {
		t.Errorf("doctor while the store is away: %s", got)
	}
	machine("new")
	if names, text := tr.serve("fs_read"); names != "" || !strings.Contains(text, "fs_read is held back: the shared store with the pins is away") {
		t.Errorf("a replica that knows no pins, while the store is away: %s, %s", names, text)
	}
	machine("one")
	if names, text := tr.serve("fs_read"); names != "fs_list fs_read " || text != "did read" {
		t.Errorf("a replica that knows the pins, while the store is away: %s, %s", names, text)
	}
}

// TestSignInOfReplicas: who signs in on one machine, signs in the replicas on others.
func TestSignInOfReplicas(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server, wiki, dir := fleettest.Start(t), remoteWiki(t), t.TempDir()
	file := filepath.Join(dir, "m.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers": {"wiki": {"url": "%s/mcp"}}}`, wiki.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(machine string, args ...string) *exec.Cmd {
		p := exec.Command(self, append(args, "--config", file)...)
		p.Env = append(os.Environ(), "RLMPROXY_TEST_RUN=1", "RLMPROXY_STATE_DIR="+filepath.Join(dir, machine), "RLMPROXY_CACHE_URL="+server.URL)
		return p
	}
	says := func(want, machine string, args ...string) {
		t.Helper()
		out, err := at(machine, args...).CombinedOutput()
		if !strings.Contains(string(out), want) || strings.Contains(string(out), "SECRET") {
			t.Errorf("%s %v: %v, lacks %q:\n%s", machine, args, err, want, out)
		}
	}
	says("needs you to sign in: rlmproxy auth login wiki", "one", "call", "wiki_hi", "{}")
	login := at("operator", "auth", "login", "wiki", "--no-browser")
	shown := &logBuffer{}
	login.Stderr = shown
	var out bytes.Buffer
	login.Stdout = &out
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = login.Process.Kill() })
	address := ""
	for end := time.Now().Add(20 * time.Second); address == "" && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, word := range strings.Fields(shown.String()) {
			if strings.HasPrefix(word, wiki.URL) {
				address = word
			}
		}
	}
	resp, err := http.Get(address)
	if err != nil {
		t.Fatalf("%v: %s", err, shown)
	}
	resp.Body.Close()
	if err := login.Wait(); err != nil || !strings.Contains(out.String(), `signed in to "wiki"`) {
		t.Fatalf("%v: %s%s", err, &out, shown)
	}
	says("hi there", "one", "call", "wiki_hi", "{}")
	says("hi there", "two", "call", "wiki_hi", "{}")
	says("wiki  signed in, renewed automatically", "two", "auth", "status", "wiki")
	for _, key := range server.Client.Keys(t.Context(), "*").Val() {
		if dump := server.Client.Dump(t.Context(), key).Val(); strings.Contains(dump, "SECRET") {
			t.Errorf("%s holds a token", key)
		}
	}
	says("signed out of", "two", "auth", "logout", "wiki")
	says("needs you to sign in", "one", "call", "wiki_hi", "{}")
	server.Kill()
	says("the shared store (cacheURL) cannot be used", "one", "auth", "login", "wiki")
}
