package bench

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Twenty results, what one agent may keep, of 1.5 MB each.
const (
	keptResults = 20
	keptBytes   = 1_500_000
)

var uses = []struct {
	name  string
	calls []string // of each result; the verb is its cache_id
}{
	{"none", nil},
	{"search+outline", []string{`proxy_search {"cache_id":%q,"pattern":"LAS"}`, `proxy_explore {"cache_id":%q}`}},
}

// BenchmarkMemory reports what the proxy's process has resident, beyond what it
// has with one small call behind it, for each byte of results in its cache. Derived
// artefacts, which use adds, go when there are more than 256 MiB of them.
func BenchmarkMemory(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("reads /proc")
	}
	for _, use := range uses {
		b.Run("use="+use.name, func(b *testing.B) {
			var ratio float64
			for b.Loop() {
				r, err := resident(b, use.calls)
				if err != nil {
					b.Fatal(err)
				}
				ratio = r
			}
			b.ReportMetric(ratio, "resident/cached")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// resident runs one proxy and returns resident bytes for each cached one.
func resident(b *testing.B, calls []string) (float64, error) {
	conn, process := start(b, roleShape)
	if _, err := call(conn, "records", `{"bytes":100000,"call":-1}`); err != nil {
		return 0, err
	}
	before, err := settled(process.Pid)
	if err != nil {
		return 0, err
	}
	text, err := records(keptBytes)
	if err != nil {
		return 0, err
	}
	result, err := textResult(text)
	if err != nil {
		return 0, err
	}
	for i := range keptResults {
		raw, err := call(conn, "records", fmt.Sprintf(`{"bytes":%d,"call":%d}`, keptBytes, i))
		if err != nil {
			return 0, err
		}
		a, err := read(raw)
		if err != nil {
			return 0, err
		}
		id, _, _ := strings.Cut(a.text[strings.Index(a.text, "cache_id=")+len("cache_id="):], "]")
		for _, c := range calls {
			tool, args, _ := strings.Cut(c, " ")
			if raw, err = call(conn, tool, fmt.Sprintf(args, id)); err == nil {
				_, err = read(raw)
			}
			if err != nil {
				return 0, err
			}
		}
	}
	after, err := settled(process.Pid)
	return float64(after-before) / float64(keptResults*len(result)), err
}

// settled is what a process has resident, in bytes, when it gives nothing more
// back.
func settled(pid int) (int64, error) {
	least, rest := int64(1<<62), 1500*time.Millisecond
	if once() {
		rest = 200 * time.Millisecond
	}
	for since := time.Now(); time.Since(since) < rest; time.Sleep(100 * time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		number, _, _ := strings.Cut(strings.TrimSpace(rest), " kB")
		kb, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, err
		}
		if kb<<10 < least {
			least, since = kb<<10, time.Now()
		}
	}
	return least, nil
}
