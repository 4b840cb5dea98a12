package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rlmproxy/middleware/auth"
)

const uiSecret = "ui-0123456789abcdef"

// asked is what a path of a proxy answers to a token, "" being none.
func asked(t *testing.T, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// TestWhoOpensThePage: who has its key, and nobody with another token. Where other machines
// come, it is there only with a key that the operator has set.
func TestWhoOpensThePage(t *testing.T) {
	agents, metrics, own := "RLMPROXY_HTTP_TOKENS=alice:"+agentSecret, "RLMPROXY_METRICS_TOKEN="+metricsSecret, "RLMPROXY_UI_TOKEN="+uiSecret
	for _, tt := range []struct {
		name, addr string
		environ    []string
		there      bool
		opens      string // besides the key in the state folder, where that is not replaced
	}{
		{"alone", "127.0.0.1:0", nil, true, ""},
		{"beside agents' tokens", "127.0.0.1:0", []string{agents, metrics}, true, ""},
		{"with a key that is set", "127.0.0.1:0", []string{agents, metrics, own}, true, uiSecret},
		{"on all addresses", "0.0.0.0:0", []string{agents, metrics}, false, ""},
		{"on all addresses with a key that is set", "0.0.0.0:0", []string{agents, own}, true, uiSecret},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			find := serveAt(t, tt.addr, append(tt.environ, "RLMPROXY_STATE_DIR="+dir)...)
			at := "http://127.0.0.1:" + find(`listening on http://\S+:(\d+)/mcp`)
			made := "0000000000000000000000"
			if b, err := os.ReadFile(filepath.Join(dir, "ui", "key")); err == nil {
				made = strings.TrimSpace(string(b))
			}
			page, _ := asked(t, at+"/ui", agentSecret)
			if (page == 200) != tt.there || (find(`page on (\S+)`) != "") != tt.there {
				t.Errorf("/ui: %d; logged: %q", page, find(`page on (\S+)`))
			}
			for _, token := range []string{"", agentSecret, metricsSecret, uiSecret, made} {
				for _, path := range []string{"report", "results"} {
					status, body := asked(t, at+"/ui/api/"+path, token)
					want := 401
					switch {
					case !tt.there && token == agentSecret:
						want = 404 // an agent asks for what is not there
					case tt.there && (token == tt.opens || tt.opens == "" && token == made):
						want = 200
					}
					if token == "" {
						want = 401
					}
					if status != want {
						t.Errorf("%s with %.8q: %d, want %d: %.200s", path, token, status, want, body)
					}
				}
			}
			// Who has the key is no agent.
			if status, _ := asked(t, at+"/mcp", uiSecret); len(tt.environ) > 0 && status != 401 {
				t.Errorf("/mcp with the key: %d", status)
			}
			if status, _ := asked(t, at+"/metrics", made); status == 200 {
				t.Error("/metrics with the key")
			}
			if said := find(`((?s:.*))`); strings.Contains(said, made) || strings.Contains(said, uiSecret) {
				t.Errorf("the key is in the log: %s", said)
			}
		})
	}
}

// TestPageIsRefused: what would open it for agents stops the start.
func TestPageIsRefused(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"an agent's token", agentSecret, "RLMPROXY_UI_TOKEN is the token of an agent too"},
		{"the metrics' token", metricsSecret, "RLMPROXY_UI_TOKEN is RLMPROXY_METRICS_TOKEN too"},
		{"short", "hunter2", "RLMPROXY_UI_TOKEN: token 1: the token has fewer than 16 characters"},
		{"not a token", "hunter2 hunter2 hunter2", "RLMPROXY_UI_TOKEN: token 1"},
	} {
		t.Setenv("RLMPROXY_STATE_DIR", t.TempDir())
		t.Setenv("RLMPROXY_HTTP_TOKENS", "alice:"+agentSecret)
		t.Setenv("RLMPROXY_METRICS_TOKEN", metricsSecret)
		t.Setenv("RLMPROXY_UI_TOKEN", tt.value)
		var log bytes.Buffer
		code := run([]string{"wrap", "--http", "127.0.0.1:0", "--", "false"}, strings.NewReader(""), io.Discard, &log)
		if said := log.String(); code != exitUsage || !strings.Contains(said, tt.want) || strings.Contains(said, tt.value) {
			t.Errorf("%s: %d %s", tt.name, code, said)
		}
	}
	// A key that was made may be given to an agent later.
	p := &uiPage{key: uiSecret}
	if err := p.check([]auth.Token{{Agent: "bob", Secret: uiSecret}}); err == nil || strings.Contains(err.Error(), uiSecret) {
		t.Error(err)
	}
	if err := (*uiPage)(nil).check([]auth.Token{{Agent: "bob", Secret: uiSecret}}); err != nil {
		t.Error(err)
	}
}

// TestUICommand: it prints the address with the key that opens the page.
func TestUICommand(t *testing.T) {
	dir := t.TempDir()
	find := serveAt(t, "127.0.0.1:0", "RLMPROXY_STATE_DIR="+dir)
	at := find(`listening on http://(\S+)/mcp`)
	if hint := find(`page on .*\((rlmproxy ui .*) prints`); !strings.HasSuffix(hint, " --http "+at) || !strings.Contains(hint, dir) {
		t.Errorf("the log advises %q", hint)
	}
	ui := func(args ...string) (code int, stdout, stderr string) {
		var out, log bytes.Buffer
		code = run(append([]string{"ui", "--state-dir", dir}, args...), strings.NewReader(""), &out, &log)
		return code, out.String(), log.String()
	}
	for _, given := range []string{at, "http://" + at, "http://" + at + "/mcp", "http://" + at + "/ui/"} {
		code, out, log := ui("--http", given)
		base, key, ok := strings.Cut(strings.TrimSpace(out), "#key=")
		if code != exitOK || !ok || log != "" || base != "http://"+at+"/ui" {
			t.Fatalf("%s: %d %s%s", given, code, out, log)
		}
		if status, body := asked(t, base+"/api/report", key); status != 200 || !strings.Contains(body, `"recent":[]`) {
			t.Errorf("%d %s", status, body)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "ui", "key")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	code, out, _ := ui("--http", "unix:/run/x")
	if code != exitOK || !strings.HasPrefix(out, "curl --unix-socket /run/x -H 'Authorization: Bearer ") {
		t.Errorf("%d %s", code, out)
	}
	for _, tt := range []struct{ args, want string }{
		{"--http 127.0.0.1:1", "nothing answers at http://127.0.0.1:1/ui"},
		{"--http http://" + at + "/elsewhere", "there is no page of rlmproxy at http://" + at + "/elsewhere/ui"},
		{"--http 99999", "--http: "},
		{"--http ftp://x", "that is not a URL such as"},
		{"--http http://x/#key=" + uiSecret, "is not a URL such as"},
		{"--http http://a:b@x/", "is not a URL such as"},
		{"--http unix:/run/x --open", "browsers open no Unix sockets"},
		{"now", `takes no argument "now"`},
	} {
		code, out, log := ui(strings.Fields(tt.args)...)
		if code != exitUsage || out != "" || !strings.Contains(log, tt.want) || strings.Contains(log, uiSecret) {
			t.Errorf("%s: %d %s%s", tt.args, code, out, log)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(filepath.Join(dir, "ui", "key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out, log := ui("--http", at); code != exitUsage || out != "" || !strings.Contains(log, "can be read or written by others") {
		t.Errorf("a key that others read: %d %s%s", code, out, log)
	}
}

// TestRedirect: what the browser is started with does not show the key.
func TestRedirect(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("RLMPROXY_STATE_DIR", dir)
	c := &cli{}
	cfg, err := c.readSettings(c.uiCommand())
	if cfg == nil {
		t.Fatal(err)
	}
	file, err := c.redirect(cfg.Proxy, `http://127.0.0.1:8080/ui#key="><b>`)
	if err != nil || strings.Contains(file, "key") {
		t.Fatal(file, err)
	}
	b, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(b), `content="0;url=http://127.0.0.1:8080/ui#key=&#34;&gt;&lt;b&gt;"`) {
		t.Errorf("%v %s", err, b)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}
