package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// status returns a size of the proxy's own process, such as VmHWM, in bytes.
func (s *session) status(field string) int64 {
	s.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), field+":")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " kB")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n << 10
}

// big fetches a large text and returns its cache_id, or "" if it is not kept.
func (s *session) big(mb int, kind string, seed int) string {
	raw, err := s.try("s_big", fmt.Sprintf(`{"mb":%d,"kind":%q,"seed":%d}`, mb, kind, seed))
	var r reply
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil || r.IsError {
		s.t.Errorf("%d MB of %s: %.200s, %v", mb, kind, raw, err)
	}
	return r.Meta.Result.CacheID
}

// worst are calls that need the most memory, each of another kind.
var worst = []string{
	`proxy_search {"cache_id":%q,"pattern":"w12\\d+"}`,
	`proxy_search {"cache_id":%q,"pattern":"quick fox w77","mode":"bm25"}`,
	`proxy_search {"cache_id":%q,"pattern":"quack","mode":"fuzzy"}`,
	`proxy_search {"cache_id":%q,"pattern":"lazy dog w500[0-9]","mode":"context"}`,
	`proxy_explore {"cache_id":%q}`,
	`proxy_filter {"cache_id":%q,"offset":1000,"limit":900000}`,
	`proxy_filter {"cache_id":%q,"format":"lines"}`,
	`proxy_filter {"cache_id":%q,"fields":["id","name"]}`,
	`proxy_filter {"cache_id":%q,"exclude":["tags"]}`,
	`proxy_filter {"cache_id":%q,"jq":"."}`,
}

// ask makes the worst calls on a result, all at once. They may run into their
// limits.
func (s *session) ask(id string) {
	atOnce(len(worst), func(i int) {
		tool, args, _ := strings.Cut(worst[i], " ")
		raw, err := s.try(tool, fmt.Sprintf(args, id))
		var r reply
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		switch code := r.Meta.Error.Code; {
		case err != nil:
			s.t.Errorf("%s %s: %v", tool, args, err)
		case r.IsError && code != "limit_time" && code != "limit_memory" && code != "bad_arguments" && code != "evicted_cache_id":
			s.t.Errorf("%s %s: %.300s", tool, args, raw)
		}
	})
}

func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// TestMemory: with the defaults the proxy stays under 1 GB, and what a burst took
// goes back to the system. Sizes are those of the proxy's process, without jq
// workers.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	if testing.Short() {
		t.Skip("gigabytes of results")
	}
	const most = 1_000_000_000
	kinds := []string{"rows", "prose", "blocks", "line"}
	for _, burst := range []struct {
		name string
		run  func(s *session)
	}{
		{"results of 60 MB", func(s *session) { atOnce(5, func(i int) { s.big(60, kinds[i%4], i) }) }},
		{"results of 33 MB", func(s *session) {
			for i := range 3 {
				s.big(33, "rows", i) // just over a power of two
			}
		}},
		{"results of 1 MB", func(s *session) { atOnce(60, func(i int) { s.big(1, kinds[i%4], i) }) }},
		{"queries of 60 MB of records", func(s *session) { s.ask(s.big(60, "rows", 0)) }},
		{"queries of 60 MB of blocks", func(s *session) { s.ask(s.big(60, "blocks", 0)) }},
		{"queries of 9 times 10 MB", func(s *session) { atOnce(9, func(i int) { s.ask(s.big(10, kinds[i%3], i)) }) }},
		{"arguments of 15 MB", func(s *session) {
			args := `{"x":"` + strings.Repeat("x", 15<<20) + `"}`
			refused := 0
			var mu sync.Mutex
			atOnce(16, func(int) {
				if _, err := s.try("s_x", args); err != nil {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			})
			if refused > 14 {
				s.t.Errorf("%d of 16 refused", refused)
			}
		}},
	} {
		t.Run(burst.name, func(t *testing.T) {
			s := proxy(t, "serve", "--config", configure(t, map[string][]string{"s": nil}))
			begun := time.Now()
			burst.run(s)
			peak := s.status("VmHWM")
			t.Logf("peak %d MB, %v", peak/1e6, time.Since(begun))
			if peak > most {
				t.Errorf("%d bytes at the peak", peak)
			}
			for since := time.Now(); s.status("VmRSS") > most/2; time.Sleep(50 * time.Millisecond) {
				if time.Since(since) > 10*time.Second {
					t.Fatalf("%d bytes long after it", s.status("VmRSS"))
				}
			}
		})
	}
}
