//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remoteWiki is a protected server with its authorization server, whose person always agrees.
// It ends all tokens when asked for /end.
func remoteWiki(t *testing.T) *httptest.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "wiki", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "hi"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hi there"}}}, nil, nil
	})
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	var mu sync.Mutex
	given, good, base := 0, "", ""
	answers := func(w http.ResponseWriter, r *http.Request) any {
		mu.Lock()
		defer mu.Unlock()
		switch r.URL.Path {
		case "/.well-known/oauth-protected-resource/mcp":
			return map[string]any{"resource": base + "/mcp", "authorization_servers": []string{base}}
		case "/.well-known/oauth-authorization-server":
			return map[string]any{"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
				"registration_endpoint": base + "/register", "revocation_endpoint": base + "/end", "code_challenge_methods_supported": []string{"S256"}}
		case "/register":
			w.WriteHeader(http.StatusCreated)
			return map[string]any{"client_id": "a"}
		case "/authorize":
			http.Redirect(w, r, r.FormValue("redirect_uri")+"?code=c&state="+r.FormValue("state"), http.StatusFound)
		case "/token":
			given++
			good = fmt.Sprint("SECRET-", given)
			return map[string]any{"access_token": good, "refresh_token": fmt.Sprint("SECRET-again-", given), "token_type": "Bearer", "expires_in": 3600}
		case "/end":
			good = ""
		}
		return nil
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		in := good != "" && r.Header.Get("Authorization") == "Bearer "+good
		mu.Unlock()
		switch {
		case r.URL.Path != "/mcp":
			w.Header().Set("Content-Type", "application/json")
			if answer := answers(w, r); answer != nil {
				_ = json.NewEncoder(w).Encode(answer)
			}
		case !in:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			tools.ServeHTTP(w, r)
		}
	}))
	base = s.URL
	t.Cleanup(s.Close)
	return s
}

// TestSignInOutlives signs in by one process, with a pasted address, and has others use, renew
// and end that: each knows only what the one before has kept.
func TestSignInOutlives(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	wiki := remoteWiki(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "m.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers": {"wiki": {"url": "%s/mcp"}}}`, wiki.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	process := func(args ...string) *exec.Cmd {
		p := exec.Command(self, append(args, "--config", file)...)
		p.Env = append(os.Environ(), "RLMPROXY_TEST_RUN=1", "RLMPROXY_STATE_DIR="+filepath.Join(dir, "state"))
		return p
	}
	says := func(want string, args ...string) {
		t.Helper()
		out, err := process(args...).CombinedOutput()
		all.Write(out)
		if !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, lacks %q:\n%s", args, err, want, out)
		}
	}
	says(`needs you to sign in: rlmproxy auth login wiki`, "call", "wiki_hi", "{}")

	login := process("auth", "login", "wiki", "--no-browser")
	shown := &logBuffer{}
	login.Stderr = shown
	var out bytes.Buffer
	login.Stdout = &out
	in, err := login.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = login.Process.Kill() })
	address := ""
	eventually(t, "no address is shown", func() bool {
		address = regexp.MustCompile(`http://\S*/authorize\S*`).FindString(shown.String())
		return strings.Contains(shown.String(), "press Enter")
	})
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || back.Hostname() != "127.0.0.1" {
		t.Fatalf("it comes back to %v, %v", back, err)
	}
	fmt.Fprintf(in, "%s\n%s\n", strings.Split(back.String(), "?")[0], back) // not whole, first
	if err := login.Wait(); err != nil || !strings.Contains(out.String(), `signed in to "wiki", renewed automatically`) || strings.Count(shown.String(), "Paste the whole address") != 1 {
		t.Fatalf("login: %v\n%s%s", err, &out, shown)
	}
	all.WriteString(shown.String() + out.String())

	says("hi there", "call", "wiki_hi", "{}")
	says("signed in, renewed automatically; client: registered", "auth", "status", "wiki")
	if resp, err := http.Get(wiki.URL + "/end"); err == nil {
		resp.Body.Close()
	}
	says("hi there", "call", "wiki_hi", "{}", "--log-level", "debug")
	says("its tokens are revoked and forgotten", "auth", "logout", "wiki")
	says("needs sign-in", "auth", "status", "wiki")
	says("needs you to sign in", "call", "wiki_hi", "{}")
	if strings.Contains(all.String(), "SECRET") {
		t.Errorf("a token is shown:\n%s", &all)
	}
}
