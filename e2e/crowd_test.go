package e2e

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rlmproxy/internal/busytest"
)

// crowd opens a site for alice, who wants much, and eight others.
func crowd(t *testing.T) *site {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	tokens := []string{"alice:" + tokenOf("alice")}
	for i := range 8 {
		tokens = append(tokens, fmt.Sprintf("bob%d:%s", i, tokenOf(fmt.Sprintf("bob%d", i))))
	}
	s := openHTTP(t, []string{"RLMPROXY_HTTP_TOKENS=" + strings.Join(tokens, ",")}, "--http", "127.0.0.1:0")
	s.callAs("bob0", "s_x", "{}") // which waits until the server is there
	return s
}

func tokenOf(agent string) string { return "0123456789abcdef-" + agent }

func (s *site) callAs(agent, tool, args string) (int, string) {
	return s.call(tool, args, authorized(agent)...)
}

// authorized is the header of an agent's requests.
func authorized(agent string) []string { return []string{"Authorization", "Bearer " + tokenOf(agent)} }

// others has eight agents make n small calls each, and returns how long they took, the
// quickest first.
func (s *site) others(n int, clock *busytest.Clock) []time.Duration {
	var mu sync.Mutex
	var all []time.Duration
	atOnce(8, func(i int) {
		for range n {
			begun := clock.Now()
			status, body := s.callAs(fmt.Sprintf("bob%d", i), "s_x", "{}")
			took := clock.Since(begun)
			if status != 200 || !strings.Contains(body, "s/x") {
				s.t.Errorf("bob%d: %d %.200s", i, status, body)
			}
			mu.Lock()
			all = append(all, took)
			mu.Unlock()
		}
	})
	slices.Sort(all)
	return all
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))]
}

// TestManyWaitingCalls: a thousand calls of an agent that wait with a megabyte each take
// neither the memory nor the time of others. They took 4 GB, and a small call of another
// agent 29 s.
func TestManyWaitingCalls(t *testing.T) {
	s := crowd(t)
	clock := busytest.NewClock(t)
	alone := s.others(100, clock)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var refused atomic.Int64
	args := `{"x":"` + strings.Repeat("x", 1_040_000) + `"}`
	for range 1000 {
		wg.Go(func() {
			resp, err := s.send(ctx, "s_hang", args, authorized("alice")...)
			switch {
			case ctx.Err() != nil:
			case err != nil: // a connection that was ended while it wrote
				refused.Add(1)
			default:
				resp.Body.Close()
				if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
					refused.Add(1)
				}
			}
		})
	}
	for until := time.Now().Add(30 * time.Second); refused.Load() < 900 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	beside := s.others(100, clock)
	peak := (&session{t: t, cmd: s.cmd}).status("VmHWM")
	cancel()
	wg.Wait()
	t.Logf("alone p50 %v, p99 %v; beside p50 %v, p99 %v; %d refused; peak %d MB",
		quantile(alone, .5), quantile(alone, .99), quantile(beside, .5), quantile(beside, .99), refused.Load(), peak/1e6)
	if peak > 1e9 {
		t.Errorf("%d bytes at the peak", peak)
	}
	// A second is far from what they took, and far from what a busy machine adds.
	if got := quantile(beside, .99); got > time.Second {
		t.Errorf("p99 %v beside them", got)
	}
}

// TestFlood: two hundred calls of an agent at once, each with a result that is cut, delay
// another's by those few that a server works on for one agent, not by all.
func TestFlood(t *testing.T) {
	s := crowd(t)
	clock := busytest.NewClock(t)
	alone := s.others(100, clock)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var calls atomic.Int64
	for range 200 {
		wg.Go(func() {
			for ctx.Err() == nil {
				s.callAs("alice", "s_big", fmt.Sprintf(`{"mb":1,"kind":"rows","seed":%d}`, calls.Add(1)))
			}
		})
	}
	for calls.Load() < 210 {
		time.Sleep(10 * time.Millisecond)
	}
	beside := s.others(5, clock)
	cancel()
	wg.Wait()
	t.Logf("alone p50 %v; beside p50 %v, p99 %v", quantile(alone, .5), quantile(beside, .5), quantile(beside, .99))
	if got := quantile(beside, .5); got > 1500*time.Millisecond {
		t.Errorf("p50 %v beside them", got)
	}
}
