package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSecondStart: of ten servers one is slow and one never answers. The second start answers
// with the whole list at once, as the first one ended with it, and tells of no change.
func TestSecondStart(t *testing.T) {
	everything, memory, git, files := real(t, "mcp-server-everything"), real(t, "mcp-server-memory"), real(t, "git-mcp-server"), real(t, "mcp-server-filesystem")
	dir := t.TempDir()
	slow := filepath.Join(dir, "slow.sh")
	if err := os.WriteFile(slow, []byte("sleep 4\nexec \"$@\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := configure(t, map[string][]string{
		"a": append(files, dir), "b": {"sleep", "1000"}, "c": everything, "d": memory, "e": append([]string{"sh", slow}, everything...),
		"f": git, "g": append(files, modules(t)), "h": append(memory, "again"), "i": append(git, "again"), "j": append(files, dir, modules(t)),
	})
	env := []string{"RLMPROXY_STATE_DIR=" + filepath.Join(dir, "state"), "RLMPROXY_LOG_LEVEL=warn", "RLMPROXY_EXPOSURE=all"}
	list := func(s *session) (all string) {
		t.Helper()
		for _, method := range []string{"tools/list", "prompts/list"} {
			raw, err := s.Call(t.Context(), method, json.RawMessage(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			all += string(raw)
		}
		return all
	}
	connected := func(s *session) { // or the test ends at its time
		for _, tool := range []string{"e_echo", "i_git_status", "j_list_allowed_directories"} {
			s.call(tool, `{}`)
		}
	}
	changes := func(s *session) (n int) {
		time.Sleep(time.Second) // for what is told of a moment later
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, method := range s.told {
			if strings.HasSuffix(method, "list_changed") {
				n++
			}
		}
		return n
	}
	s := open(t, env, binary, "serve", "--config", config)
	list(s)
	for until := time.Now().Add(time.Minute); !slices.Contains(s.tools(), "e_echo"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the slow server did not come")
		}
	}
	connected(s)
	t.Logf("first start: %d changes told", changes(s))
	want := list(s)
	s.Conn.Close()
	s.ended()
	if n := strings.Count(want, `"inputSchema"`); n < 100 {
		t.Fatalf("%d tools", n)
	}
	best := time.Hour
	for range 3 { // a busy machine may be slow at it
		s = begin(t, env, binary, "serve", "--config", config)
		_, _ = s.Call(t.Context(), "ping", json.RawMessage(`{}`)) // the program has started
		begun := time.Now()
		s.shakeHands()
		got := list(s)
		best = min(best, time.Since(begun))
		if got != want {
			t.Errorf("another list of %d bytes than the first start ended with, of %d", len(got), len(want))
		}
		if best < 50*time.Millisecond {
			break
		}
		s.Conn.Close()
		s.ended()
	}
	t.Logf("second start: the lists after %v", best)
	if best > 50*time.Millisecond {
		t.Error("want them within 50 ms")
	}
	connected(s)
	if n := changes(s); n > 0 {
		t.Errorf("%d changes told: %q", n, s.told)
	}
	if list(s) != want {
		t.Error("another list than at the start")
	}
}
