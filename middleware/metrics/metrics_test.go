package metrics

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"rlmproxy/cache"
	"rlmproxy/fleet"
	"rlmproxy/middleware"
	"rlmproxy/middleware/observe"
)

// scrape returns the lines of rlmproxy's own metrics.
func scrape(t *testing.T, m *Metrics, method, path string) (status int, lines []string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "rlmproxy_") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return w.Code, lines
}

// TestCalled: what a call counts, and that labels are of a bounded set: none is an agent,
// its client or a name that it made up.
func TestCalled(t *testing.T) {
	m := New("v1", "")
	for _, c := range []observe.Call{
		{Server: "fs", Name: "fs_read", Known: true, Outcome: observe.OK, Took: 20 * time.Millisecond, TokensIn: 100, TokensOut: 10},
		{Server: "fs", Name: "fs_read", Known: true, Outcome: observe.Error, Error: "rate_limited", Queued: 3 * time.Second},
		{Server: "fs", Name: "fs_\xff", Known: true, Outcome: observe.Error, Error: "-31999"},
		{Server: "fs", Name: "fs_read", Known: true, Outcome: observe.Cancelled, Took: time.Hour, For: 7},
		{Name: "proxy_filter", Known: true, Outcome: observe.OK, TokensOut: 5},
		{Name: "made_up", Outcome: observe.Error, Error: "unknown_tool"},
		{Server: "fs", Method: "resources/read", Outcome: observe.OK},
		{Server: "fs", Method: "made/up", Outcome: observe.Error, Error: "-32601"},
	} {
		c.Agent, c.Client = "subject :secretive", "secretive"
		if c.Method == "" {
			c.Method = "tools/call"
		}
		m.Called(&c)
	}
	for i := range 2 * maxTools {
		m.Called(&observe.Call{Method: "tools/call", Server: "many", Name: fmt.Sprint("t", i), Known: true, Outcome: observe.OK})
	}
	_, lines := scrape(t, m, "GET", "/metrics")
	for _, want := range []string{
		`rlmproxy_calls_total{outcome="ok",server="fs",tool="fs_read"} 1`,
		`rlmproxy_calls_total{outcome="cancelled",server="fs",tool="fs_read"} 1`,
		`rlmproxy_calls_total{outcome="error",server="fs",tool="fs_?"} 1`,
		`rlmproxy_calls_total{outcome="error",server="",tool="unknown"} 1`,
		`rlmproxy_calls_total{outcome="ok",server="",tool="proxy_filter"} 1`,
		`rlmproxy_calls_total{outcome="ok",server="fs",tool="resources/read"} 1`,
		`rlmproxy_calls_total{outcome="error",server="fs",tool="other"} 1`,
		`rlmproxy_calls_total{outcome="ok",server="many",tool="other"} 506`,
		`rlmproxy_call_errors_total{code="rate_limited",server="fs"} 1`,
		`rlmproxy_call_errors_total{code="other",server="fs"} 1`,
		`rlmproxy_call_errors_total{code="-32601",server="fs"} 1`,
		`rlmproxy_tokens_in_total{server="fs",tool="fs_read"} 100`,
		`rlmproxy_tokens_out_total{server="fs",tool="fs_read"} 10`,
		`rlmproxy_call_seconds_bucket{server="fs",tool="fs_read",le="0.025"} 2`,
		`rlmproxy_call_seconds_count{server="fs",tool="fs_read"} 2`,
		`rlmproxy_call_queue_seconds_bucket{le="5"} 1007`,
		`rlmproxy_call_queue_seconds_bucket{le="2.5"} 1006`,
		`rlmproxy_build_info{version="v1"} 1`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %s", want)
		}
	}
	all := strings.Join(lines, "\n")
	for _, never := range []string{"secretive", "made", "up\""} {
		if strings.Contains(all, never) {
			t.Errorf("%q is a label", never)
		}
	}
	if t.Failed() {
		t.Log(strings.Join(slices.DeleteFunc(lines, func(s string) bool { return strings.Contains(s, "many") }), "\n"))
	}
}

// TestWatch: what is going on is looked at when it is asked for.
func TestWatch(t *testing.T) {
	m := New("v1", "abc")
	state := "ready"
	m.Watch(Source{
		Cache: func() cache.Stats { return cache.Stats{Entries: 2, Bytes: 3, Hits: 4, Gone: 5, Unknown: 6, Evicted: 7} },
		Load: func() middleware.Load {
			return middleware.Load{Sessions: 8, Agents: 9, Calls: 10, Streams: 11, Held: 12}
		},
		States:  []string{"ready", "failed"},
		Servers: func() map[string]string { return map[string]string{"fs": state} },
		Redactions: func() map[middleware.Redacted]int64 {
			return map[middleware.Redacted]int64{{Server: "fs", Rule: "jwt", Masked: true}: 14}
		},
		Lost: func() int { return 13 },
		Store: func() fleet.Figures {
			return fleet.Figures{Ops: 15, Failed: 16, Time: 1700 * time.Millisecond, Away: true}
		},
	})
	state = "failed"
	_, lines := scrape(t, m, "GET", "/metrics")
	for _, want := range []string{
		`rlmproxy_cache_entries 2`, `rlmproxy_cache_bytes 3`, `rlmproxy_cache_reads_total{result="hit"} 4`, `rlmproxy_cache_reads_total{result="gone"} 5`,
		`rlmproxy_cache_reads_total{result="unknown"} 6`, `rlmproxy_cache_removed_total{reason="evicted"} 7`, `rlmproxy_cache_removed_total{reason="expired"} 0`,
		`rlmproxy_sessions 8`, `rlmproxy_agents 9`, `rlmproxy_calls_running 10`, `rlmproxy_streams 11`, `rlmproxy_held_bytes 12`,
		`rlmproxy_upstream_state{server="fs",state="failed"} 1`, `rlmproxy_upstream_state{server="fs",state="ready"} 0`, `rlmproxy_audit_lost_total 13`,
		`rlmproxy_redactions_total{masked="true",rule="jwt",server="fs"} 14`,
		`rlmproxy_store_up 0`, `rlmproxy_store_operations_total 15`, `rlmproxy_store_failures_total 16`, `rlmproxy_store_operation_seconds_total 1.7`,
		`rlmproxy_build_info{replica="abc",version="v1"} 1`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %s", want)
		}
	}
	for _, tt := range []struct {
		method, path string
		status       int
	}{{"POST", "/metrics", 405}, {"GET", "/", 404}, {"HEAD", "/metrics", 200}} {
		if got, _ := scrape(t, m, tt.method, tt.path); got != tt.status {
			t.Errorf("%s %s: %d", tt.method, tt.path, got)
		}
	}
}
