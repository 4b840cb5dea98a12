package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
)

// A lockedBuffer is written while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const (
	metricsSecret = "metrics-0123456789"
	agentSecret   = "alice-0123456789ab"
)

// serveMetrics serves over HTTP with these variables until the test ends, and returns
// where /mcp and the metrics' own address are, "" for none.
func serveMetrics(t *testing.T, environ ...string) (mcp, own string) {
	t.Helper()
	find := serveAt(t, "127.0.0.1:0", append([]string{"RLMPROXY_STATE_DIR=" + t.TempDir()}, environ...)...)
	return find(`listening on (http://[0-9.:]+)/mcp`), find(`metrics on (http://[0-9.:]+)/metrics`)
}

// serveAt serves at an address with these variables until the test ends, and returns what
// finds a group in the log, "" if it is not there.
func serveAt(t *testing.T, addr string, environ ...string) (find func(re string) string) {
	t.Helper()
	cfg, err := config.Single(config.Server{Name: "s", Command: os.Args[0], Args: []string{"no-such-server"}}, config.Options{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	c := &cli{log: terminal.NewLog(&log)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.serveHTTP(ctx, cfg, addr, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		c.log.Close()
	})
	find = func(re string) string {
		if m := regexp.MustCompile(re).FindStringSubmatch(log.String()); m != nil {
			return m[1]
		}
		return ""
	}
	for end := time.Now().Add(10 * time.Second); find(`(listening) on `) == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(log.String())
		}
	}
	return find
}

// TestWhoSeesMetrics: nobody without their token, whatever token of an agent's they have.
func TestWhoSeesMetrics(t *testing.T) {
	for _, tt := range []struct {
		name    string
		environ []string
		own     bool // ask at their own address, not beside /mcp
		token   string
		status  int
	}{
		{"none are wanted", nil, false, "", 404},
		{"none are wanted, an agent asks", []string{"RLMPROXY_HTTP_TOKENS=alice:" + agentSecret}, false, agentSecret, 404},
		{"their token", []string{"RLMPROXY_METRICS_TOKEN=" + metricsSecret}, false, metricsSecret, 200},
		{"no token", []string{"RLMPROXY_METRICS_TOKEN=" + metricsSecret}, false, "", 401},
		{"an agent's token", []string{"RLMPROXY_METRICS_TOKEN=" + metricsSecret, "RLMPROXY_HTTP_TOKENS=alice:" + agentSecret}, false, agentSecret, 401},
		{"beside agents' tokens", []string{"RLMPROXY_METRICS_TOKEN=" + metricsSecret, "RLMPROXY_HTTP_TOKENS=alice:" + agentSecret}, false, metricsSecret, 200},
		{"own address", []string{"RLMPROXY_METRICS_ADDRESS=0"}, true, "", 200},
		{"own address is not beside /mcp", []string{"RLMPROXY_METRICS_ADDRESS=0"}, false, "", 404},
		{"own address with a token", []string{"RLMPROXY_METRICS_ADDRESS=0", "RLMPROXY_METRICS_TOKEN=" + metricsSecret}, true, "", 401},
		{"and with the right one", []string{"RLMPROXY_METRICS_ADDRESS=0", "RLMPROXY_METRICS_TOKEN=" + metricsSecret}, true, metricsSecret, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mcp, own := serveMetrics(t, tt.environ...)
			at := mcp
			if tt.own {
				at = own
			}
			ask := func(path, token, host string) (int, string) {
				r, err := http.NewRequestWithContext(t.Context(), "GET", at+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if token != "" {
					r.Header.Set("Authorization", "Bearer "+token)
				}
				r.Host = host
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				b, _ := io.ReadAll(resp.Body)
				return resp.StatusCode, string(b)
			}
			status, body := ask("/metrics", tt.token, "")
			if status != tt.status || (status == 200) != strings.Contains(body, `rlmproxy_upstream_state{server="s"`) || strings.Contains(body, "0123456789") {
				t.Errorf("%d, want %d: %.300s", status, tt.status, body)
			}
			if status, _ := ask("/metrics", tt.token, "rebound.example.com"); status == 200 {
				t.Error("a page that was rebound to this address sees them")
			}
			// Who has their token is no agent.
			if status, _ := ask("/mcp", metricsSecret, ""); len(tt.environ) == 2 && !tt.own && status != 401 {
				t.Errorf("/mcp with their token: %d", status)
			}
		})
	}
}

// TestMetricsAreRefused: what would show them to others, or to nobody, stops the start.
func TestMetricsAreRefused(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct{ name, environ, want string }{
		{"other machines", "RLMPROXY_METRICS_ADDRESS=0.0.0.0:0", "metricsAddress: 0.0.0.0:0 is not a loopback address"},
		{"short token", "RLMPROXY_METRICS_TOKEN=hunter2", "RLMPROXY_METRICS_TOKEN: token 1: the token has fewer than 16 characters"},
		{"token of an agent", "RLMPROXY_METRICS_TOKEN=" + agentSecret, "is also the token of an agent"},
		{"taken", "RLMPROXY_METRICS_ADDRESS=" + taken.Addr().String(), "metricsAddress: listen"},
	} {
		name, value, _ := strings.Cut(tt.environ, "=")
		t.Setenv("RLMPROXY_HTTP_TOKENS", "alice:"+agentSecret)
		t.Setenv(name, value)
		var log bytes.Buffer
		code := run([]string{"wrap", "--http", "127.0.0.1:0", "--", "false"}, strings.NewReader(""), io.Discard, &log)
		if said := log.String(); code != exitUsage || !strings.Contains(said, tt.want) || strings.Contains(said, "hunter2") || strings.Contains(said, agentSecret) {
			t.Errorf("%s: %d %s", tt.name, code, said)
		}
		t.Setenv(name, "")
	}
}
