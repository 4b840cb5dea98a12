package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rlmproxy/internal/busytest"
)

// jqWorkers are the processes of s that run programs.
func jqWorkers(t *testing.T, s *session) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		stat, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if len(fields) > 1 && fields[1] == strconv.Itoa(s.cmd.Process.Pid) && strings.Contains(string(cmdline), "jq-worker") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestJQWorkers: the built binary is its own worker, which knows nothing of the
// environment, is replaced when it dies and goes when the proxy does.
func TestJQWorkers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	for name, end := range map[string]func(*session){
		"SIGTERM":      func(s *session) { s.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGKILL":      func(s *session) { s.cmd.Process.Kill() },
		"stdin closes": func(s *session) { s.Conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := proxy(t, "serve", "--config", configure(t, map[string][]string{"s": nil}), "--fresh-calls", "all")
			const query = `{"tool":"s_rows","arguments":{},"jq":"length"}`
			if got := s.text("proxy_filter", query); !strings.HasSuffix(got, "\n9001") {
				t.Fatal(got)
			}
			first := jqWorkers(t, s)
			if len(first) != 1 {
				t.Fatalf("%d workers", len(first))
			}
			if env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(first[0]), "environ")); err != nil || string(env) != "GOTRACEBACK=none\x00" {
				t.Errorf("environment %q, %v", env, err)
			}
			worker, err := os.FindProcess(first[0])
			if err == nil {
				err = worker.Kill()
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := s.text("proxy_filter", query); !strings.HasSuffix(got, "\n9001") {
				t.Error(got)
			}
			second := jqWorkers(t, s)
			if len(second) == 0 || second[0] == first[0] {
				t.Errorf("workers %v, then %v", first, second)
			}
			end(s)
			s.ended()
			for since := time.Now(); len(second) > 0 && alive(second[0]); runtime.Gosched() {
				if time.Since(since) > 5*time.Second {
					t.Fatal("a worker is left")
				}
			}
		})
	}
}

// TestJQAbuse: while programs do their worst, other calls of the session are
// answered.
func TestJQAbuse(t *testing.T) {
	s := proxy(t, "serve", "--config", configure(t, map[string][]string{"s": nil}), "--fresh-calls", "all", "--jq-timeout", "1s")
	clock := busytest.NewClock(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			begun := clock.Now()
			raw, err := s.try("s_x", `{}`)
			if took := clock.Since(begun); err != nil || !strings.Contains(string(raw), "s/x") || took > time.Second {
				t.Errorf("meanwhile: %s, %v after %v", raw, err, took)
			}
		}
	})
	for _, program := range []string{
		"reduce range(3e6) as $i (null; [.]) | tojson", `[range(50) | "abcdefgh" * 3e7] | length`, "def f: [.] | f; f", "last(repeat(.))",
		`"ab " * 3e7 | gsub("a"; "b") | length`, strings.Repeat("[", 9_000),
	} {
		args, err := json.Marshal(map[string]any{"tool": "s_rows", "arguments": map[string]any{}, "jq": program})
		if err != nil {
			t.Fatal(err)
		}
		begun := clock.Now()
		r := s.read("proxy_filter", string(args))
		if took := clock.Since(begun); !r.IsError || r.Meta.Error.Code == "internal" || took > 1600*time.Millisecond {
			t.Errorf("%.60s: %+v after %v", program, r, took)
		}
	}
	if got := s.text("proxy_filter", `{"tool":"s_rows","arguments":{},"jq":"length"}`); !strings.HasSuffix(got, "\n9001") {
		t.Error(got)
	}
	close(stop)
	wg.Wait()
}
