package fleet

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"rlmproxy/e2e/replicas"
)

// kinds are what agents call for.
var kinds = []struct {
	name  string
	bytes int
}{{"short", shortBytes}, {"cut", 10_000}}

// agents make calls at one time.
const agents = 16

func linux(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("reads /proc")
	}
}

func urls(f *replicas.Fleet) (all []string) {
	for _, r := range f.Replicas {
		all = append(all, r.URL())
	}
	return all
}

// batch has all agents make calls, n in all, and returns how many there were in a second.
func batch(clients []*client, n, bytes int, call *int) float64 {
	begun := time.Now()
	from := *call
	*call += n
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			for k := i; k < n; k += len(clients) {
				c.records(bytes, from+k)
			}
		})
	}
	wg.Wait()
	return float64(n) / time.Since(begun).Seconds()
}

// BenchmarkReplicas reports how many calls one, two and four replicas answer in a second, and
// x-one, the ratio to one replica. They take turns. All are on one machine: where they use
// all of its processors, x-one is at most 1, and replica-cpu-µs/call says what more machines
// would bring.
func BenchmarkReplicas(b *testing.B) {
	linux(b)
	for _, kind := range kinds {
		b.Run("result="+kind.name, func(b *testing.B) {
			numbers := []int{1, 2, 4}
			var fleets []*replicas.Fleet
			var clients [][]*client
			for _, n := range numbers {
				f := start(b, n, false)
				fleets = append(fleets, f)
				var all []*client
				for i := range agents {
					all = append(all, &client{tb: b, agent: fmt.Sprint("agent ", i), urls: urls(f), next: i})
				}
				clients = append(clients, all)
			}
			call, n := 0, 400
			if once() {
				n = 32
			}
			rates := make([][]float64, len(numbers))
			costs := make([]cost, len(numbers))
			calls := 0
			for i := range numbers {
				batch(clients[i], 2*agents, kind.bytes, &call) // the first ones pay for the connections
			}
			for b.Loop() {
				calls += n
				for i, f := range fleets {
					before := costOf(b, f)
					rates[i] = append(rates[i], batch(clients[i], n, kind.bytes, &call))
					used := costOf(b, f).less(before)
					costs[i].replicas += used.replicas
					costs[i].store += used.store
				}
			}
			for i, number := range numbers {
				b.ReportMetric(middle(rates[i]), fmt.Sprintf("calls/s-of-%d", number))
				b.ReportMetric(middle(rates[i])/middle(rates[0]), fmt.Sprintf("x-one-of-%d", number))
				b.ReportMetric(costs[i].replicas*1e6/float64(calls), fmt.Sprintf("replica-cpu-µs/call-of-%d", number))
				b.ReportMetric(costs[i].store*1e6/float64(calls), fmt.Sprintf("store-cpu-µs/call-of-%d", number))
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkStore reports what the store costs: x-memory is the median of a call to a replica
// with a store ÷ that of the same call to one without. They take turns. A call of "cut"
// has its result kept; "near" asks the replica that keeps it about it, "far" another one, which
// has not had it before.
func BenchmarkStore(b *testing.B) {
	linux(b)
	for _, size := range []struct {
		name  string
		bytes int
	}{{"10KB", 10_000}, {"1MB", 1_000_000}, {"10MB", 10_000_000}} {
		b.Run("size="+size.name, func(b *testing.B) {
			shared, alone := start(b, 2, false), start(b, 1, true)
			one := &client{tb: b, agent: "a", urls: urls(shared)[:1]}
			two := &client{tb: b, agent: "a", urls: urls(shared)[1:]}
			memory := &client{tb: b, agent: "a", urls: urls(alone)}
			times := map[string][]time.Duration{}
			timed := func(name string, f func()) {
				begun := time.Now()
				f()
				times[name] = append(times[name], time.Since(begun))
			}
			for _, c := range []*client{one, two, memory} {
				c.filter(c.records(size.bytes, -1))
			}
			calls := 0
			for b.Loop() {
				calls++
				var id, own string
				timed("cut", func() { id = one.records(size.bytes, calls) })
				timed("cut-memory", func() { own = memory.records(size.bytes, calls) })
				timed("near", func() { one.filter(id) })
				timed("near-memory", func() { memory.filter(own) })
				timed("far", func() { two.filter(id) })
			}
			for _, name := range []string{"cut", "near", "far"} {
				than := "near-memory"
				if name == "cut" {
					than = "cut-memory"
				}
				b.ReportMetric(float64(median(times[name]))/1e6, name+"-ms")
				b.ReportMetric(float64(median(times[name]))/float64(median(times[than])), name+"-x-memory")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// asks are what an agent may do, for what it costs.
var asks = []struct {
	name    string
	session bool
	do      func(c *client, call int)
}{
	{"short", false, func(c *client, call int) { c.records(shortBytes, call) }},
	{"short-in-session", true, func(c *client, call int) { c.records(shortBytes, call) }},
	{"cut-10KB", false, func(c *client, call int) { c.records(10_000, call) }},
	{"cut-1MB", false, func(c *client, call int) { c.records(1_000_000, call) }},
	{"filter-near", false, nil},
	{"begin-session", false, func(c *client, _ int) { c.session = ""; c.begin() }},
}

// BenchmarkCost reports what one call costs: processor time of the replica, its server and the
// store, how often the replica asks the store, what that runs, and bytes between them.
func BenchmarkCost(b *testing.B) {
	linux(b)
	for _, ask := range asks {
		b.Run("call="+ask.name, func(b *testing.B) {
			f := start(b, 1, false, "RLMPROXY_MAX_TOTAL_AGENTS=100000")
			c := &client{tb: b, urls: urls(f), agent: "a"}
			if ask.session {
				c.agent = ""
				c.begin()
			}
			do := ask.do
			if do == nil {
				id := c.records(10_000, -1)
				do = func(c *client, _ int) { c.filter(id) }
			}
			do(c, -2)
			before := costOf(b, f)
			calls := 0
			for b.Loop() {
				calls++
				do(c, calls)
			}
			used := costOf(b, f).less(before)
			used.report(b, calls)
		})
	}
}
