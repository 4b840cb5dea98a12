package stats

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/cache"
	"rlmproxy/middleware/observe"
)

// TestWhatCounts: which tokens of each kind of call count, with those that its tool has by then.
func TestWhatCounts(t *testing.T) {
	tool := func(c observe.Call) observe.Call {
		c.Method, c.Server, c.Known = "tools/call", "fs", true
		if c.Name == "" {
			c.Name = "read"
		}
		return c
	}
	own := func(c observe.Call) observe.Call {
		c.Method, c.Name, c.Known = "tools/call", "proxy_filter", true
		return c
	}
	for _, tt := range []struct {
		name  string
		calls []observe.Call
		want  Sums
	}{
		{"whole", []observe.Call{tool(observe.Call{Outcome: observe.OK, TokensIn: 100, TokensOut: 100})}, Sums{Calls: 1, TokensIn: 100, TokensOut: 100}},
		{"cut", []observe.Call{tool(observe.Call{Outcome: observe.OK, TokensIn: 1000, TokensOut: 100, Cut: true, CacheID: "a"})}, Sums{Calls: 1, Cut: 1, TokensIn: 1000, TokensOut: 100, Saved: 900}},
		{"twice the same, as an agent would read it twice", []observe.Call{
			tool(observe.Call{Outcome: observe.OK, TokensIn: 1000, TokensOut: 100, Cut: true, CacheID: "a"}),
			tool(observe.Call{Outcome: observe.OK, TokensIn: 1000, TokensOut: 20, Cut: true, CacheID: "a"}),
		}, Sums{Calls: 2, Cut: 2, TokensIn: 2000, TokensOut: 120, Saved: 1880}},
		{"a follow-up", []observe.Call{own(observe.Call{Outcome: observe.OK, TokensOut: 50, ReadID: "a"})}, Sums{Calls: 1, TokensOut: 50, Saved: -50}},
		{"a follow-up that fails", []observe.Call{own(observe.Call{Outcome: observe.Error, Error: "bad_jq", TokensOut: 30})}, Sums{Calls: 1, Errors: 1, TokensOut: 30, Saved: -30}},
		{"a fresh call", []observe.Call{
			tool(observe.Call{For: 2, Outcome: observe.OK, TokensIn: 1000, CacheID: "a"}),
			own(observe.Call{Outcome: observe.OK, TokensOut: 50, CacheID: "a"}),
		}, Sums{Calls: 2, TokensIn: 1000, TokensOut: 50, Saved: 950}},
		{"a fresh call for what the agent has an id of", []observe.Call{
			tool(observe.Call{Outcome: observe.OK, TokensIn: 1000, TokensOut: 100, Cut: true, CacheID: "a"}),
			tool(observe.Call{For: 2, Outcome: observe.OK, TokensIn: 1000, CacheID: "a"}),
			tool(observe.Call{For: 3, Outcome: observe.OK, TokensIn: 700, CacheID: "b"}),
			tool(observe.Call{For: 4, Outcome: observe.OK, TokensIn: 700, CacheID: "b"}),
		}, Sums{Calls: 4, Cut: 1, TokensIn: 1700, TokensOut: 100, Saved: 1600}},
		{"made again, to another result too", []observe.Call{
			tool(observe.Call{For: 2, Again: true, Outcome: observe.OK, TokensIn: 1000, CacheID: "c"}),
		}, Sums{Calls: 1}},
		{"made again by the agent, since it was gone", []observe.Call{
			tool(observe.Call{Outcome: observe.OK, TokensIn: 1000, TokensOut: 100, Cut: true, CacheID: "a"}),
			own(observe.Call{Outcome: observe.Error, Error: "expired_cache_id", TokensOut: 30, ReadID: "a"}),
			tool(observe.Call{Outcome: observe.OK, TokensIn: 1000, TokensOut: 100, Cut: true, CacheID: "a"}),
			tool(observe.Call{Outcome: observe.OK, TokensIn: 1000, TokensOut: 100, Cut: true, CacheID: "a"}),
		}, Sums{Calls: 4, Errors: 1, Cut: 3, TokensIn: 2000, TokensOut: 330, Saved: 1670}},
		{"gone in the process before", []observe.Call{
			own(observe.Call{Outcome: observe.Error, Error: "evicted_cache_id", TokensOut: 30, ReadID: "a"}),
			tool(observe.Call{Outcome: observe.OK, TokensIn: 1000, TokensOut: 100, Cut: true, CacheID: "a"}),
		}, Sums{Calls: 2, Errors: 1, Cut: 1, TokensOut: 130, Saved: -130}},
		{"the server's error", []observe.Call{tool(observe.Call{Outcome: observe.Error, Error: observe.CodeTool, TokensIn: 3000, TokensOut: 200, Cut: true, CacheID: "a"})},
			Sums{Calls: 1, Errors: 1, Cut: 1, TokensIn: 3000, TokensOut: 200, Saved: 2800}},
		{"an error in place of a result", []observe.Call{tool(observe.Call{Outcome: observe.Error, Error: "limit_memory", TokensIn: 90_000, TokensOut: 40})},
			Sums{Calls: 1, Errors: 1, TokensOut: 40, Saved: -40}},
		{"an error of the protocol", []observe.Call{tool(observe.Call{Outcome: observe.Error, Error: "-32602"})}, Sums{Calls: 1, Errors: 1}},
		{"cancelled", []observe.Call{tool(observe.Call{Outcome: observe.Cancelled, TokensIn: 1000, TokensOut: 100, Took: time.Hour})}, Sums{Calls: 1}},
		{"a question", []observe.Call{tool(observe.Call{Outcome: observe.Input, TokensIn: 60, TokensOut: 60})}, Sums{Calls: 1}},
		{"a resource", []observe.Call{{Method: "resources/read", Server: "fs", Outcome: observe.OK, TokensIn: 500, TokensOut: 400}}, Sums{Calls: 1, TokensIn: 500, TokensOut: 400, Saved: 100}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{})
			for _, c := range tt.calls {
				r.Called(&c)
			}
			if diff := cmp.Diff(tt.want, r.Report().Total); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFetched: of so many results it is remembered that they have counted.
func TestFetched(t *testing.T) {
	r := New(Options{})
	fetch := func(n int) (had bool) { return r.fetch(cache.ID(fmt.Sprint(n))) }
	for i := range 3 * maxFetched {
		if fetch(i) {
			t.Fatalf("%d had counted", i)
		}
	}
	if !fetch(2*maxFetched) || !fetch(3*maxFetched-1) || fetch(2*maxFetched-1) || len(r.fetched) != maxFetched {
		t.Error("others are remembered than the last", len(r.fetched))
	}
}

// TestNames: what is kept of names is nothing that an agent made up.
func TestNames(t *testing.T) {
	r := New(Options{})
	for _, c := range []observe.Call{
		{Method: "tools/call", Server: "fs", Name: "fs_read", Known: true},
		{Method: "tools/call", Server: "fs\xff", Name: "fs_\xff", Known: true},
		{Method: "tools/call", Name: "secretive"},
		{Method: "secretive/method", Server: "fs"},
		{Method: "resources/read", Server: "fs"},
		{Method: "resources/read", Server: "fs", Name: "fs_read", Known: true, For: 7}, // called again for it
	} {
		r.Called(&c)
	}
	var got []string
	for _, c := range r.Report().Recent {
		got = append(got, c.Server+"/"+c.Tool)
	}
	for _, tool := range r.Report().Tools {
		got = append(got, tool.Server+"/"+tool.Tool)
	}
	want := []string{"fs/fs_read", "fs/resources/read", "fs/other", "/unknown", "fs?/fs_?", "fs/fs_read",
		"/unknown", "fs/fs_read", "fs/other", "fs/resources/read", "fs?/fs_?"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestBounds: tools, hours and calls are bounded, and none is lost from the sums.
func TestBounds(t *testing.T) {
	r := New(Options{})
	begin := time.Now().Add(-3 * time.Hour).Truncate(time.Hour)
	for i := range 3 * maxTools {
		r.Called(&observe.Call{Number: int64(i), Begun: begin.Add(time.Duration(i) * time.Second), Method: "tools/call", Server: "s", Name: fmt.Sprint("t", i), Known: true, TokensIn: 1})
	}
	got := r.Report()
	if len(got.Tools) != maxTools+1 || got.Total.Calls != 3*maxTools {
		t.Errorf("%d tools, %d calls", len(got.Tools), got.Total.Calls)
	}
	if i := slices.IndexFunc(got.Tools, func(t Tool) bool { return t.Server == other && t.Tool == other }); i < 0 || got.Tools[i].Calls != 2*maxTools {
		t.Error("no others", i)
	}
	if len(got.Recent) != MaxRecent || got.Recent[0].Tool != fmt.Sprint("t", 3*maxTools-1) || got.Recent[99].Tool != fmt.Sprint("t", 3*maxTools-100) {
		t.Errorf("%d recent, the first %s", len(got.Recent), got.Recent[0].Tool)
	}
	var c counts
	now := time.Now()
	for i := range 2 * MaxHours {
		c.listed(1, now.Add(time.Duration(i-2*MaxHours)*time.Hour))
		c.listed(1, now.Add(time.Duration(i)*time.Hour)) // by a clock that is wrong
	}
	var all counts
	all.merge(&c, now)
	if first := all.Hours[0].Begin; len(all.Hours) > MaxHours || now.Sub(first) > MaxHours*time.Hour || all.Schemas != 4*MaxHours {
		t.Errorf("%d hours from %v, schemas %d", len(all.Hours), first, all.Schemas)
	}
	for i, h := range all.Hours[1:] {
		if !h.Begin.After(all.Hours[i].Begin) {
			t.Fatalf("hour %v after %v", h.Begin, all.Hours[i].Begin)
		}
	}
}

// TestClockGoesBack: what was counted by a clock that was ahead is not in the place of what is
// new, and counts.
func TestClockGoesBack(t *testing.T) {
	now := time.Now()
	var all, ahead, right counts
	for i := range 2 * MaxHours {
		ahead.called(&observe.Call{Begun: now.AddDate(1, 0, 0).Add(time.Duration(i) * time.Hour)}, 2, 1)
	}
	all.merge(&ahead, now.AddDate(2, 0, 0))
	right.called(&observe.Call{Begun: now}, 2, 1)
	all.merge(&right, now)
	r := all.report()
	if len(r.Recent) != 1 || !r.Recent[0].Time.Equal(now) || len(r.Hours) != 1 || !r.Hours[0].Begin.Equal(now.UTC().Truncate(time.Hour)) || r.Total.Calls != 2*MaxHours+1 {
		t.Errorf("%d calls, %d recent, the first of %v; %d hours", r.Total.Calls, len(r.Recent), r.Recent[0].Time, len(r.Hours))
	}
}

// TestQuantiles: they are upper bounds, at most twice what they bound.
func TestQuantiles(t *testing.T) {
	for range 200 {
		var c counts
		var took []time.Duration
		for range 1 + rand.IntN(50) {
			d := time.Duration(rand.Int64N(int64(1) << rand.IntN(40)))
			took = append(took, d)
			c.called(&observe.Call{Took: d}, 0, 0)
		}
		slices.Sort(took)
		r := c.report().Tools[0]
		for _, q := range []struct {
			percent int
			got     float64
		}{{50, r.P50}, {95, r.P95}} {
			exact := float64(took[(len(took)*q.percent+99)/100-1]) / 1e6
			if q.got < exact || q.got > max(2*exact, .125) {
				t.Errorf("p%d of %v is %v, exactly %v", q.percent, took, q.got, exact)
			}
		}
	}
	var c counts
	c.called(&observe.Call{Took: 1000 * time.Hour}, 0, 0)
	c.called(&observe.Call{Took: -time.Second}, 0, 0) // a clock that was set
	if got := c.report().Tools[0]; got.P50 != .125 || got.P95 < 1e6 {
		t.Error(got)
	}
}

// TestMerge: it is all the same in which order what was counted comes together.
func TestMerge(t *testing.T) {
	now := time.Now()
	parts := make([]counts, 3)
	var whole counts
	for i := range 500 {
		c := observe.Call{
			Begun: now.Add(time.Duration(i-500) * time.Hour / 10), Took: time.Duration(i) * time.Millisecond, Method: "tools/call", Known: true,
			Server: fmt.Sprint("s", i%3), Name: fmt.Sprint("t", i%7), Cut: i%2 == 0, Outcome: []observe.Outcome{observe.OK, observe.Error, observe.Cancelled}[i%3],
		}
		whole.called(&c, i, i/2)
		parts[i%3].called(&c, i, i/2)
	}
	want := whole.report()
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}} {
		var all counts
		for _, i := range order {
			all.merge(&parts[i], now)
		}
		if diff := cmp.Diff(want, all.report()); diff != "" {
			t.Error(diff)
		}
	}
}
