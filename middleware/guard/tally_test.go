package guard

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
)

// replica is a Calls of a replica of its own.
func replica(t testing.TB, server *fleettest.Server, running, perMinute int) *Calls {
	t.Helper()
	store, err := fleet.Open(fleet.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := NewCalls("calls", running, perMinute)
	c.Share(store, "calls", func(agent string) bool { return strings.HasPrefix(agent, "local") })
	t.Cleanup(func() {
		c.Close()
		store.Close()
	})
	return c
}

func begin(t testing.TB, c *Calls, agent, want string) func() {
	t.Helper()
	done, err := c.Begin(agent)
	if got := fmt.Sprint(err); !strings.Contains(got, want) {
		t.Fatalf("%s: %s, want %s", agent, got, want)
	}
	return done
}

const full = "too_busy: this agent has 3 calls open, the most allowed: try again when some have ended"

// TestReplicas: calls that run at other replicas count, until they end; names may be anything.
func TestReplicas(t *testing.T) {
	server := fleettest.Start(t)
	a, b := replica(t, server, 3, 0), replica(t, server, 3, 0)
	for _, agent := range []string{"x", strings.Repeat("long ", 1000), "}:*\n\x00\xff", ""} {
		one, two, three := begin(t, a, agent, "nil"), begin(t, a, agent, "nil"), begin(t, b, agent, "nil")
		begin(t, a, agent, full)
		begin(t, b, agent, full)
		begin(t, b, "another", "nil")()
		one()
		fleettest.Until(t, "there is room at the other", func() bool {
			done, err := b.Begin(agent)
			if err == nil {
				done()
			}
			return err == nil
		})
		two()
		three()
	}
	for range 3 { // an agent of this name is another one at each
		begin(t, a, "local", "nil")
		begin(t, b, "local", "nil")
	}
	if n := a.Running() + b.Running(); n != 6 {
		t.Errorf("%d calls run", n)
	}
	fleettest.Until(t, "nothing is counted any more", func() bool {
		return server.Client.Exists(t.Context(), a.tally.running(a.tally.store.Replica()), b.tally.running(b.tally.store.Replica())).Val() == 0
	})
}

// TestReplicasRate: calls that begin at other replicas count, and a refused one costs nothing.
func TestReplicasRate(t *testing.T) {
	server := fleettest.Start(t)
	a, b := replica(t, server, 0, 5), replica(t, server, 0, 5)
	for i := range 5 {
		begin(t, []*Calls{a, b}[i%2], "x", "nil")()
	}
	const over = "rate_limited: this agent has begun 5 calls within a minute, the most allowed: try again in 12s"
	for range 3 {
		begin(t, a, "x", over)
		begin(t, b, "x", over)
	}
	begin(t, b, "other", "nil")()
	if !a.agents["x"].refused.After(time.Now()) {
		t.Error("the store is asked again though there is no room")
	}
	a.agents["x"].refused = time.Time{} // the time passes here
	at, err := server.Client.Get(t.Context(), a.tally.store.Key("rate calls", field("x"))).Float64()
	if err != nil {
		t.Fatal(err)
	}
	// And at the store: its bucket is full a minute earlier.
	server.Client.Set(t.Context(), a.tally.store.Key("rate calls", field("x")), fmt.Sprintf("%.0f", at-13e6), time.Minute)
	a.agents["x"].rate = NewCalls("", 0, 5).newRate()
	begin(t, a, "x", "nil")()
	begin(t, a, "x", "try again in 11s")
}

// TestLostReplica: what runs at a replica that is not there any more does not count.
func TestLostReplica(t *testing.T) {
	server := fleettest.Start(t)
	a := replica(t, server, 3, 0)
	ctx, store := t.Context(), a.tally.store
	server.Client.HSet(ctx, a.tally.running("other"), field("x"), "7:2")
	begin(t, a, "x", "nil")() // it has never said that it is there
	now := float64(time.Now().UnixMilli())
	server.Client.ZAdd(ctx, store.ReplicasKey(), redis.Z{Score: now + 1000, Member: "other"})
	one := begin(t, a, "x", "nil")
	begin(t, a, "x", full)
	server.Client.ZAdd(ctx, store.ReplicasKey(), redis.Z{Score: now - 2*float64(lostTime.Milliseconds()), Member: "other"})
	two := begin(t, a, "x", "nil")
	if left := server.Client.PTTL(ctx, a.tally.running(store.Replica())).Val(); left <= 0 || left > lostTime {
		t.Errorf("what runs here would count for %v if this replica were lost", left)
	}
	one()
	two()
}

// TestTallyMends: whatever the store has of this replica is as it should be soon.
func TestTallyMends(t *testing.T) {
	server := fleettest.Start(t)
	a := replica(t, server, 3, 0)
	ctx, key := t.Context(), a.tally.running(a.tally.store.Replica())
	done := begin(t, a, "x", "nil")
	server.Client.HSet(ctx, key, field("lost"), "1:3", field("x"), "0:9")
	a.tally.all(ctx)
	if all := server.Client.HGetAll(ctx, key).Val(); len(all) != 1 || !strings.HasSuffix(all[field("x")], ":1") {
		t.Errorf("the store has %v", all)
	}
	// What was told late changes nothing.
	a.tally.put(ctx, []any{0, lostTime.Milliseconds(), 1, field("x"), 0})
	if all := server.Client.HGetAll(ctx, key).Val(); len(all) != 1 || !strings.HasSuffix(all[field("x")], ":1") {
		t.Errorf("after what was late the store has %v", all)
	}
	done()
	fleettest.Until(t, "it has ended there too", func() bool { return server.Client.Exists(ctx, key).Val() == 0 })
}

// TestCallsWhileAway: while the store is away each replica counts for itself, at once; what
// runs then counts when it is back.
func TestCallsWhileAway(t *testing.T) {
	server := fleettest.Start(t)
	a, b := replica(t, server, 3, 100), replica(t, server, 3, 100)
	one := begin(t, a, "x", "nil")
	server.Kill()
	begun := time.Now()
	two, three := begin(t, a, "x", "nil"), begin(t, a, "x", "nil")
	begin(t, a, "x", full)
	other := begin(t, b, "x", "nil")
	if took := time.Since(begun); took > time.Second {
		t.Errorf("it took %v", took)
	}
	one()
	server.Restart()
	fleettest.Until(t, "the calls count again", func() bool {
		done, err := b.Begin("x")
		if err == nil {
			done()
		}
		return errors.As(err, new(*BusyError))
	})
	two()
	three()
	other()
	fleettest.Until(t, "there is room again", func() bool {
		done, err := b.Begin("x")
		if err == nil {
			done()
		}
		return err == nil
	})
}

// TestCallsAtOnce: never more calls run than may, however many replicas begin them.
func TestCallsAtOnce(t *testing.T) {
	server := fleettest.Start(t)
	replicas := []*Calls{replica(t, server, 3, 0), replica(t, server, 3, 0), replica(t, server, 3, 0)}
	var all sync.WaitGroup
	var running, most, ran atomic.Int64
	for i := range 12 {
		all.Go(func() {
			for range 200 {
				done, err := replicas[i%3].Begin("x")
				if err != nil {
					continue
				}
				n := running.Add(1)
				for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
				}
				ran.Add(1)
				running.Add(-1)
				done()
			}
		})
	}
	all.Wait()
	if most.Load() > 3 || ran.Load() == 0 {
		t.Errorf("%d ran at one time, %d in all", most.Load(), ran.Load())
	}
	for i, c := range replicas {
		fleettest.Until(t, "nothing runs at "+strconv.Itoa(i), func() bool {
			return server.Client.Exists(t.Context(), c.tally.running(c.tally.store.Replica())).Val() == 0
		})
		if len(c.agents) > 0 {
			t.Errorf("%d agents are known", len(c.agents))
		}
	}
}

// TestNoLimits: without limits no store is asked.
func TestNoLimits(t *testing.T) {
	server := fleettest.Start(t)
	if c := replica(t, server, 0, 0); c.tally != nil {
		t.Error("the store is asked for nothing")
	}
	c := NewCalls("calls", 1, 1)
	c.Share(nil, "calls", nil)
	begin(t, c, "x", "nil")()
	c.Close()
}

// BenchmarkCalls is what a call's limits cost it.
func BenchmarkCalls(b *testing.B) {
	for _, limit := range []struct {
		name               string
		running, perMinute int
	}{{"running", 256, 0}, {"running and rate", 256, 1_000_000_000}} {
		run := func(c *Calls) func(b *testing.B) {
			return func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					begin(b, c, "agent", "nil")()
				}
			}
		}
		b.Run("limits="+limit.name+"/counts=replica", run(NewCalls("calls", limit.running, limit.perMinute)))
		b.Run("limits="+limit.name+"/counts=store", run(replica(b, fleettest.Start(b), limit.running, limit.perMinute)))
	}
}
