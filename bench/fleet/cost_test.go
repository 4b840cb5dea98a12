package fleet

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"rlmproxy/e2e/replicas"
)

// A cost is what a fleet has used since its start.
type cost struct {
	replicas float64 // seconds of processors, of all replicas with what they have started
	store    float64 // the same of the store
	asked    float64 // times that a replica has asked the store
	commands float64 // that the store has run, those in scripts among them
	in, out  float64 // bytes to and from the store
}

func (c cost) less(o cost) cost {
	return cost{c.replicas - o.replicas, c.store - o.store, c.asked - o.asked, c.commands - o.commands, c.in - o.in, c.out - o.out}
}

// report reports a cost of n calls.
func (c cost) report(b *testing.B, n int) {
	per := 1 / float64(n)
	b.ReportMetric(c.replicas*1e6*per, "replica-cpu-µs/call")
	b.ReportMetric(c.store*1e6*per, "store-cpu-µs/call")
	b.ReportMetric(c.asked*per, "store-asked/call")
	b.ReportMetric(c.commands*per, "store-commands/call")
	b.ReportMetric(c.in*per, "to-store-B/call")
	b.ReportMetric(c.out*per, "from-store-B/call")
}

// costOf is what a fleet has used.
func costOf(tb testing.TB, f *replicas.Fleet) (c cost) {
	tb.Helper()
	for _, r := range f.Replicas {
		c.replicas += processorTime(tb, r.Pid())
		c.asked += metric(tb, r, "rlmproxy_store_operations_total")
	}
	if f.Store == nil {
		return c
	}
	info := storeInfo(tb, f)
	c.store = info["used_cpu_user"] + info["used_cpu_sys"]
	c.commands = info["total_commands_processed"]
	c.in, c.out = info["total_net_input_bytes"], info["total_net_output_bytes"]
	return c
}

// storeInfo is what the store says of itself in numbers.
func storeInfo(tb testing.TB, f *replicas.Fleet) map[string]float64 {
	tb.Helper()
	text, err := f.Store.Client.Info(context.Background()).Result()
	if err != nil {
		tb.Fatal(err)
	}
	info := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			info[name] = n
		}
	}
	return info
}

// metric is a figure of a replica's /metrics, all that have the name together.
func metric(tb testing.TB, r *replicas.Replica, name string) (sum float64) {
	tb.Helper()
	req, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(r.URL(), "/mcp")+"/metrics", nil)
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+metricsToken)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		line := in.Text()
		if rest, ok := strings.CutPrefix(line, name); ok && (strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, " ")) {
			n, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			if err != nil {
				tb.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

// processorTime is how many seconds of processors a process has used, with those that it has
// started.
func processorTime(tb testing.TB, pid int) (seconds float64) {
	tb.Helper()
	for _, p := range append(children(pid), pid) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		for _, field := range fields[11:13] { // user and system, in hundredths
			n, err := strconv.ParseFloat(field, 64)
			if err != nil {
				tb.Fatal(err)
			}
			seconds += n / 100
		}
	}
	return seconds
}

// children are the processes that a process has started.
func children(pid int) (all []int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	for _, field := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(field); err == nil {
			all = append(append(all, n), children(n)...)
		}
	}
	return all
}

// resident is what a process alone has in memory, in bytes, when it gives nothing more back.
func resident(tb testing.TB, pid int, rest time.Duration) float64 {
	tb.Helper()
	least := 1e18
	for since := time.Now(); time.Since(since) < rest; time.Sleep(100 * time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			tb.Fatal(err)
		}
		_, text, _ := strings.Cut(string(status), "VmRSS:")
		number, _, _ := strings.Cut(strings.TrimSpace(text), " kB")
		kb, err := strconv.ParseFloat(number, 64)
		if err != nil {
			tb.Fatal(err)
		}
		if kb*1024 < least {
			least, since = kb*1024, time.Now()
		}
	}
	return least
}
