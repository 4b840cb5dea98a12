package e2e

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rlmproxy/e2e/replicas"
)

// A suite is an official one, asked for all that it has for a version of the
// protocol.
type suite struct {
	name      string
	module    []string // elements of the program's path in node_modules
	args      []string
	stateless bool // the reference server asks its clients in one mode and serves 2026-07-28 in the other
	passed    int  // checks that pass directly
}

var suites = []suite{
	{"0.1.16", []string{"conformance-2025", "dist", "index.js"}, []string{"--suite", "all"}, false, 44},
	{"2025-11-25", []string{"conformance-2026", "dist", "index.js"}, []string{"--suite", "all", "--spec-version", "2025-11-25"}, false, 82},
	{"2026-07-28", []string{"conformance-2026", "dist", "index.js"}, []string{"--suite", "all", "--spec-version", "2026-07-28"}, true, 153},
}

// hasty is a check of a call that takes 100 ms, for which the suite waits 500: with the
// processes of nine replicas on a busy machine it may be late.
var hasty = check{"server-stateless", "sep-2575-server-no-log-without-loglevel", "ServerNoLogWithoutLogLevel"}

// upstreams are the ways by which the proxy reaches the reference server.
var upstreams = []string{"stdio", "http"}

// TestConformance runs the suites against the Go SDK's reference server directly, through
// the proxy, and through a balancer that sends each request to the next of three replicas
// with one store. What passes directly passes through them too.
func TestConformance(t *testing.T) {
	node := node22(t)
	dir := t.TempDir()
	server := filepath.Join(dir, "everything-server")
	if out, err := exec.Command("go", "build", "-o", server, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "conformance-baseline.txt"))
	if err != nil {
		t.Fatal(err)
	}
	known, err := parseBaseline(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := known.orphans(); err != nil {
		t.Error(err)
	}
	for _, s := range suites {
		command := append([]string{node, module(t, s.module...), "server"}, s.args...)
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			url := reference(t, server, s.stateless)
			direct := conform(t, command, url)
			if n := direct.passed(); n != s.passed {
				t.Fatalf("directly %d checks pass, want %d: %v", n, s.passed, direct)
			}
			t.Run("the other mode", func(t *testing.T) {
				got := conform(t, command, reference(t, server, !s.stateless))
				if wrong := known.verdicts(s.name, "none", direct, got); len(wrong) == 0 {
					t.Error("a server that lacks half of it is no worse")
				}
			})
			for _, upstream := range upstreams {
				t.Run(upstream, func(t *testing.T) {
					args := []string{"--", server}
					if upstream == "http" {
						args = []string{"--url", url}
					}
					got := conform(t, command, proxyHTTP(t, args...))
					for _, w := range known.verdicts(s.name, upstream, direct, got) {
						t.Error(w)
					}
				})
				t.Run(upstream+", three replicas", func(t *testing.T) {
					args := []string{"wrap", "--", server}
					if upstream == "http" {
						args = []string{"wrap", "--url", url}
					}
					fleet := replicas.Start(t, replicas.Options{Binary: binary, N: 3, Args: args})
					got := conform(t, command, fleet.URL)
					if got[hasty].failed > 0 {
						got = conform(t, command, fleet.URL)
					}
					for _, w := range known.replicas(upstream).verdicts(s.name, upstream, direct, got) {
						if !strings.HasSuffix(w, cured) { // by which replica it came to
							t.Error(w)
						}
					}
					for i := range fleet.Replicas {
						if fleet.Answered(i) == 0 {
							t.Errorf("replica %d was asked nothing", i)
						}
					}
				})
			}
		})
	}
}

// reference starts the reference server and returns its URL.
func reference(t *testing.T, server string, stateless bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	args := []string{"-http", addr, "-stateless=false"}
	if stateless {
		args = args[:2]
	}
	cmd := exec.Command(server, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for since := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return "http://" + addr + "/mcp"
		} else if time.Since(since) > 20*time.Second {
			t.Fatal(err)
		}
	}
}

// conform runs a suite against a URL. Checks that it did not get to in time are
// missing from the results.
func conform(t *testing.T, command []string, url string) results {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], "--url", url, "--output-dir", dir)...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begun := time.Now()
	err := cmd.Run() // fails when checks do
	r, readErr := readResults(dir)
	if readErr != nil || len(r) == 0 {
		t.Fatalf("no results: %v, %v\n%s", err, readErr, out.String())
	}
	t.Logf("%s: %d checks pass in %v", strings.Join(command[3:], " "), r.passed(), time.Since(begun).Round(100*time.Millisecond))
	if ctx.Err() != nil {
		t.Errorf("the suite did not end: %.2000s", tail(out.String(), 2000))
	}
	return r
}

// tail is the end of s, n bytes at most.
func tail(s string, n int) string { return s[max(0, len(s)-n):] }
