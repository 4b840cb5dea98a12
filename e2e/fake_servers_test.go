package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// configure writes an mcp.json and returns its path. Each server is the fake
// one, tagged with its name, unless it has a command of its own.
func configure(t *testing.T, servers map[string][]string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]any{}
	for name, command := range servers {
		if command == nil {
			entries[name] = map[string]any{"command": exe, "env": map[string]string{fakeServer: name}}
		} else {
			entries[name] = map[string]any{"command": command[0], "args": command[1:]}
		}
	}
	b, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNamesReachTheirServers(t *testing.T) {
	s := proxy(t, "serve", "--config", configure(t, map[string][]string{"git": nil, "git_hub": nil}))
	reached := map[string]string{}
	for _, name := range s.tools() {
		if strings.HasPrefix(name, "git") && (strings.Contains(name, "hub_x") || strings.HasSuffix(name, "_x")) {
			reached[s.text(name, `{}`)] = name
		}
	}
	for _, want := range []string{"git/x", "git/hub_x", "git_hub/x", "git_hub/hub_x"} {
		if reached[want] == "" {
			t.Errorf("no name reaches %s: %v", want, reached)
		}
	}
	if len(reached) != 4 {
		t.Errorf("%d names, want four: %v", len(reached), reached)
	}
}

// TestBadDay: each of these gets one clear answer, and the session goes on.
func TestBadDay(t *testing.T) {
	s := proxy(t, "serve", "--config", configure(t, map[string][]string{"s": nil}))
	huge := s.read("s_huge", `{}`)
	if first, _, _ := strings.Cut(huge.Content[0].Text, "\n"); !strings.HasPrefix(first, "[cut: ") || huge.Meta.Result.ShownTokens > 2000 || huge.Meta.Result.Tokens < 10_000_000 {
		t.Errorf("60 MB in one line: %q, %+v", first, huge.Meta)
	}
	id := huge.Meta.Result.CacheID
	if got := s.text("proxy_search", `{"cache_id":"`+id+`","pattern":"needle"}`); !strings.Contains(got, "needle in") {
		t.Errorf("searching 60 MB in one line: %.300s", got)
	}
	if deep := s.read("s_deep", `{}`); !deep.IsError || !strings.Contains(deep.Content[0].Text, `server "s" sent a malformed answer: nested deeper than 990 levels`) {
		t.Errorf("100,000 levels: %+v", deep)
	}
	latin := s.read("s_latin1", `{}`)
	if !strings.HasPrefix(latin.Content[0].Text, "[cut: ") || !strings.Contains(latin.Content[0].Text, "caf\uFFFD cr\uFFFDme") {
		t.Errorf("not UTF-8: %.200q", latin.Content[0].Text)
	}
	failed := s.read("s_err", `{}`)
	if !failed.IsError || !strings.HasPrefix(failed.Content[0].Text, "[cut: ") || !strings.Contains(failed.Content[0].Text, "no such file") {
		t.Errorf("a long error: %.300q", failed.Content[0].Text)
	}
	if got := s.text("s_x", `{}`); got != "s/x" {
		t.Errorf("the session after it all: %q", got)
	}
	if log := s.log(); !strings.Contains(log, "fake server 1.0 started") {
		t.Errorf("the banner is not in the log:\n%s", log)
	}
}

// alive reports whether a process runs; zombies do not.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// pids starts a grandchild and returns the server's process and it.
func pids(t *testing.T, s *session) (server, child int) {
	t.Helper()
	text := s.text("s_child", `{}`)
	if _, err := fmt.Sscan(text, &server, &child); err != nil || !alive(server) || !alive(child) {
		t.Fatalf("child: %q, %v", text, err)
	}
	return server, child
}

func TestNoProcessIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	for name, end := range map[string]func(*session){
		"SIGTERM":      func(s *session) { s.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGKILL":      func(s *session) { s.cmd.Process.Kill() },
		"SIGINT":       func(s *session) { s.cmd.Process.Signal(syscall.SIGINT) },
		"stdin closes": func(s *session) { s.Conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := proxy(t, "serve", "--config", configure(t, map[string][]string{"s": nil}))
			server, child := pids(t, s)
			end(s)
			s.ended()
			if name == "SIGKILL" { // others end them then, in a moment
				for begun := time.Now(); (alive(server) || alive(child)) && time.Since(begun) < 10*time.Second; {
					time.Sleep(10 * time.Millisecond)
				}
			} else if code := s.cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			if alive(server) || alive(child) {
				t.Errorf("left: server %v, its child %v", alive(server), alive(child))
			}
		})
	}
}

func TestKilledInMidCall(t *testing.T) {
	s := proxy(t, "serve", "--config", configure(t, map[string][]string{"s": nil, "other": nil}))
	server, child := pids(t, s)
	errs := make(chan reply)
	go func() {
		raw, err := s.try("s_hang", `{}`)
		var r reply
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		if err != nil {
			t.Error(err)
		}
		errs <- r
	}()
	// The call has arrived when a later one on the same pipe is answered.
	if got := s.text("s_x", `{}`); got != "s/x" {
		t.Fatal(got)
	}
	process, err := os.FindProcess(server)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	r := <-errs
	if !r.IsError || r.Meta.Error.Code != "upstream_unavailable" || !strings.Contains(r.Content[0].Text, "signal: killed") {
		t.Errorf("the call in flight: %+v", r)
	}
	if got := s.text("s_x", `{}`); got != "s/x" {
		t.Errorf("the next call: %q", got)
	}
	if got := s.text("other_x", `{}`); got != "other/x" {
		t.Errorf("another server: %q", got)
	}
	if runtime.GOOS == "linux" && alive(child) {
		t.Error("the killed server's child is left")
	}
}

// TestSilentServer: one that never answers costs the others nothing.
func TestSilentServer(t *testing.T) {
	s := proxy(t, "serve", "--config", configure(t, map[string][]string{"s": nil, "silent": {"sleep", "1000"}, "dead": {"false"}}))
	if got := s.text("s_x", `{}`); got != "s/x" {
		t.Errorf("the one that works: %q", got)
	}
	if tools := s.tools(); !slices.Contains(tools, "s_x") || !slices.Contains(tools, "proxy_explore") {
		t.Errorf("tools: %v", tools)
	}
	r := s.read("dead_x", `{}`)
	if !r.IsError || r.Meta.Error.Code != "upstream_unavailable" || !strings.Contains(r.Content[0].Text, "exit status 1") {
		t.Errorf("the dead one: %+v", r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Call(ctx, "tools/call", json.RawMessage(`{"name":"silent_x","arguments":{}}`)); err == nil {
		t.Error("the silent one answered")
	}
	if got := s.text("s_x", `{}`); got != "s/x" {
		t.Errorf("after that: %q", got)
	}
}
