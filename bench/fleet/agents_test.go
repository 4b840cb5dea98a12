package fleet

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"
)

var scale = flag.Bool("scale", false, "measure what docs/scale.md says: 1 to 10,000 agents, some minutes")

// A shelf is what each agent has, while it does nothing.
type shelf struct {
	name    string
	session bool
	results int // of 10 KB
}

var shelves = []shelf{
	{"session", true, 0},
	{"results", false, 20},
	{"session+results", true, 20},
}

// A room is what agents take, in bytes.
type room struct {
	replica float64 // resident, of the replica that all of them use
	other   float64 // the same of one that none of them uses
	store   float64 // memory of the store, as it says
	kept    float64 // in the results as the server sent them
}

// roomOf measures what n agents take.
func roomOf(tb testing.TB, n int, s shelf) (r room) {
	tb.Helper()
	f := start(tb, 2, false, "RLMPROXY_MAX_TOTAL_AGENTS=20000", "RLMPROXY_MAX_MEMORY=20GiB")
	rest := 3 * time.Second
	if once() && !*scale {
		rest = 300 * time.Millisecond
	}
	one := f.Replicas[0]
	(&client{tb: tb, agent: "first", urls: []string{one.URL()}}).records(10_000, -1)
	(&client{tb: tb, agent: "first", urls: []string{f.Replicas[1].URL()}}).records(10_000, -1)
	measure := func() room {
		return room{resident(tb, one.Pid(), rest), resident(tb, f.Replicas[1].Pid(), rest), storeInfo(tb, f)["used_memory"], 0}
	}
	before := measure()
	var wg sync.WaitGroup
	numbers := make(chan int)
	for range agents {
		wg.Go(func() {
			for i := range numbers {
				c := &client{tb: tb, agent: fmt.Sprint("agent ", i), urls: []string{one.URL()}}
				if s.session {
					c.agent = ""
					c.begin()
					c.records(shortBytes, i)
				}
				for k := range s.results {
					c.records(10_000, i*s.results+k)
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	wg.Wait()
	after := measure()
	return room{after.replica - before.replica, after.other - before.other, after.store - before.store, float64(n * s.results * 10_000)}
}

// BenchmarkAgents reports what an agent that does nothing takes of a replica and of the store.
// Of one agent most is noise.
func BenchmarkAgents(b *testing.B) {
	linux(b)
	for _, s := range shelves {
		for _, n := range []int{1, 100, 1000} {
			if once() && n > 1 {
				continue
			}
			b.Run(fmt.Sprintf("have=%s/agents=%d", s.name, n), func(b *testing.B) {
				var r room
				for b.Loop() {
					r = roomOf(b, n, s)
				}
				b.ReportMetric(r.replica/float64(n), "replica-B/agent")
				b.ReportMetric(r.store/float64(n), "store-B/agent")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// TestScale prints what docs/scale.md is made from: go test ./bench/fleet -run Scale -scale -v
func TestScale(t *testing.T) {
	if !*scale {
		t.Skip("only with -scale")
	}
	t.Log("agents have                 replica MB  other MB  store MB  replica B/agent  store B/agent  store/kept")
	for _, s := range shelves {
		for _, n := range []int{1, 100, 1000, 10_000} {
			if n*s.results > 20_000 {
				t.Logf("%6d %-18s 10 times the line above", n, s.name)
				continue
			}
			t.Run(fmt.Sprint(s.name, " ", n), func(t *testing.T) {
				r := roomOf(t, n, s)
				ratio := "-"
				if r.kept > 0 {
					ratio = fmt.Sprintf("%.2f", r.store/r.kept)
				}
				t.Logf("%6d %-18s %12.1f %9.1f %9.1f %16.0f %14.0f  %s", n, s.name, r.replica/1e6, r.other/1e6, r.store/1e6, r.replica/float64(n), r.store/float64(n), ratio)
			})
		}
	}
	for _, kind := range kinds {
		for _, n := range []int{1, 2, 4} {
			t.Run(fmt.Sprint(kind.name, " ", n), func(t *testing.T) { printRate(t, n, kind.name, kind.bytes) })
		}
	}
}

// printRate prints how many calls replicas answer, and with what.
func printRate(t *testing.T, n int, name string, bytes int) {
	f := start(t, n, false)
	var all []*client
	for i := range agents {
		all = append(all, &client{tb: t, agent: fmt.Sprint("agent ", i), urls: urls(f), next: i})
	}
	call := 0
	batch(all, 2*agents, bytes, &call)
	before, calls := costOf(t, f), 4000
	rate := batch(all, calls, bytes, &call)
	c := costOf(t, f).less(before)
	t.Logf("%d replicas, %s: %.0f calls/s; of processors, a call: replica %.0f µs, store %.0f µs; %.1f asked, %.0f commands, %.0f B to and %.0f B from the store",
		n, name, rate, c.replicas*1e6/float64(calls), c.store*1e6/float64(calls), c.asked/float64(calls), c.commands/float64(calls), c.in/float64(calls), c.out/float64(calls))
}
