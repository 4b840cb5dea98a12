package main

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"rlmproxy/config"
)

// TestLive: which settings count at once, and which wait for the next start.
func TestLive(t *testing.T) {
	for _, name := range liveSettings {
		if !slices.ContainsFunc(config.Settings(), func(s config.Setting) bool { return s.Name == name }) {
			t.Errorf("no setting %q", name)
		}
	}
	yes := true
	now := config.Proxy{MaxResponseTokens: 2000, LogLevel: "info", HTTPAllowedHosts: []string{"a"}}
	for _, c := range []struct {
		name    string
		change  func(p *config.Proxy)
		waiting []string
		counts  bool
	}{
		{"nothing", func(*config.Proxy) {}, nil, false},
		{"live", func(p *config.Proxy) { p.LogLevel, p.TrustHints, p.CallTimeout = "debug", &yes, time.Hour }, nil, true},
		{"waits", func(p *config.Proxy) { p.MaxResponseTokens, p.HTTPAllowedHosts = 3000, []string{"b"} }, []string{"maxResponseTokens", "httpAllowedHosts"}, false},
		{"a secret waits, and is not shown", func(p *config.Proxy) { p.HTTPTokens = "alice:token" }, []string{"httpTokens"}, false},
	} {
		next := now
		c.change(&next)
		both, waiting := live(now, next)
		want := now
		if c.counts {
			want = next
		}
		if !slices.Equal(waiting, c.waiting) || !reflect.DeepEqual(both, want) {
			t.Errorf("%s: %+v, waiting %q", c.name, both, waiting)
		}
	}
}

// TestSameProcess: what of an entry can change while its process goes on. A key that is
// forgotten here takes another process, which is safe.
func TestSameProcess(t *testing.T) {
	entry := func(change func(sc *config.Server)) config.Server {
		sc := config.Server{Name: "s", Command: "c", Args: []string{"a"}, Env: map[string]string{"A": "b"}, Redact: "off"}
		change(&sc)
		return processOf(effective(config.Proxy{PinTools: true}, sc))
	}
	no, prefix := false, "p"
	for _, c := range []struct {
		name   string
		change func(sc *config.Server)
		same   bool
	}{
		{"prefix", func(sc *config.Server) { sc.Prefix = &prefix }, true},
		{"rules", func(sc *config.Server) { sc.Allow, sc.Deny, sc.Hide = []string{"a"}, []string{"b"}, []string{"c"} }, true},
		{"tools", func(sc *config.Server) { sc.Tools = map[string]config.Tool{"x": {JQ: "."}} }, true},
		{"limits", func(sc *config.Server) { sc.Timeout, sc.RateLimit, sc.Concurrency, sc.MaxProcesses = 1, 2, 3, 4 }, true},
		{"shape", func(sc *config.Server) { sc.Shape, sc.MaxResponseTokens = &no, 100 }, true},
		{"trust", func(sc *config.Server) {
			sc.TrustHints, sc.PinTools, sc.Quarantine, sc.FreshCalls = &no, &no, &no, []string{"x"}
		}, true},
		{"subModel", func(sc *config.Server) { sc.SubModel = &no }, true},
		{"redact report", func(sc *config.Server) { sc.Redact = "report" }, true},
		{"redact on, of stderr too", func(sc *config.Server) { sc.Redact = "on" }, false},
		{"command", func(sc *config.Server) { sc.Command = "d" }, false},
		{"args", func(sc *config.Server) { sc.Args = nil }, false},
		{"env", func(sc *config.Server) { sc.Env = map[string]string{"A": "c"} }, false},
		{"inheritEnv", func(sc *config.Server) { sc.InheritEnv = []string{"*"} }, false},
		{"cwd", func(sc *config.Server) { sc.Cwd = "/" }, false},
		{"url", func(sc *config.Server) { sc.URL = "http://a" }, false},
		{"headers", func(sc *config.Server) { sc.Headers = map[string]string{"A": "c"} }, false},
		{"isolation", func(sc *config.Server) { sc.Isolation = "agent" }, false},
	} {
		if got := reflect.DeepEqual(entry(func(*config.Server) {}), entry(c.change)); got != c.same {
			t.Errorf("%s: the same process %v, want %v", c.name, got, c.same)
		}
	}
}
