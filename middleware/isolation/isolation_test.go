package isolation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A process is a connection of one agent that takes a while to end.
type process struct {
	owner string
	herd  *herd
}

func (p *process) Close() {
	time.Sleep(p.herd.grace)
	p.herd.mu.Lock()
	defer p.herd.mu.Unlock()
	p.herd.live[p.owner]--
	p.herd.ended = append(p.herd.ended, p.owner)
}

// A herd is all processes of one server, by agent.
type herd struct {
	grace time.Duration // that each takes to end

	mu      sync.Mutex // guards the fields below
	live    map[string]int
	started []string
	ended   []string
	faults  []string
}

func newHerd() *herd { return &herd{live: map[string]int{}} }

// start returns what begins a process for an agent. At most limit may live, and
// one of each agent.
func (h *herd) start(agent string, limit int) func(int) *process {
	return func(int) *process {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.started = append(h.started, agent)
		h.live[agent]++
		n := 0
		for _, each := range h.live {
			n += each
		}
		if h.live[agent] > 1 || n > limit {
			h.faults = append(h.faults, fmt.Sprintf("%s: %d of its own, %d of all", agent, h.live[agent], n))
		}
		return &process{owner: agent, herd: h}
	}
}

// A client is one of an agent's, and an Upstream a server with room for some.
type client struct {
	agent string
	ends  bool
}

type Upstream struct {
	Name      string
	MaxAgents int
}

// isolation is a pool as clients use it.
type isolation struct{ *Pool[*process] }

func (i isolation) arrive(c *client) { i.Arrive(c.agent) }
func (i isolation) leave(c *client)  { i.Leave(c.agent, c.ends) }

func (i isolation) take(ctx context.Context, up *Upstream, c *client, start func(int) *process) (*Lease[*process], error) {
	return i.Take(ctx, up.Name, c.agent, up.MaxAgents, start)
}

func newTestIsolation() isolation { return isolation{New[*process](0, slog.New(slog.DiscardHandler))} }

const ownIdle = idleTime

// mustTake takes and gives back.
func mustTake(t *testing.T, i isolation, h *herd, up *Upstream, c *client) *process {
	t.Helper()
	o, err := i.take(t.Context(), up, c, h.start(c.agent, max(up.MaxAgents, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if o.Conn.owner != c.agent {
		t.Fatalf("%s got the process of %s", c.agent, o.Conn.owner)
	}
	i.Done(o)
	return o.Conn
}

func TestOwnEndsWithItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, h, up := newTestIsolation(), newHerd(), &Upstream{Name: "s", MaxAgents: 9}
		c := &client{agent: "session a", ends: true}
		start := h.start(c.agent, 9)
		if _, err := i.take(t.Context(), up, c, start); err == nil || len(h.started) > 0 {
			t.Errorf("before it came: %v", err)
		}
		i.arrive(c)
		first := mustTake(t, i, h, up, c)
		if mustTake(t, i, h, up, c) != first {
			t.Error("a second request got another process")
		}
		time.Sleep(24 * time.Hour)
		if mustTake(t, i, h, up, c) != first {
			t.Error("a session that lives lost its process")
		}
		// A request that runs does not keep it.
		if _, err := i.take(t.Context(), up, c, start); err != nil {
			t.Fatal(err)
		}
		i.leave(c)
		i.leave(c)
		synctest.Wait()
		if !slices.Equal(h.ended, []string{"session a"}) {
			t.Errorf("ended: %v", h.ended)
		}
		if _, err := i.take(t.Context(), up, c, start); err == nil || len(h.started) != 1 {
			t.Errorf("afterwards: %v, %d started", err, len(h.started))
		}
	})
}

// TestOwnOfOneWhoMayComeBack: the time counts from the last request, or from when
// the last client of the agent left.
func TestOwnOfOneWhoMayComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, h, up := newTestIsolation(), newHerd(), &Upstream{Name: "s", MaxAgents: 9}
		one, two := &client{agent: "subject a"}, &client{agent: "subject a"}
		ended := func() int {
			synctest.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.ended)
		}
		i.arrive(one)
		p := mustTake(t, i, h, up, one)
		i.arrive(two)
		i.leave(one)
		time.Sleep(2 * ownIdle)
		if mustTake(t, i, h, up, two) != p {
			t.Error("not the same process, though a client of the agent was there")
		}
		time.Sleep(ownIdle / 2)
		i.leave(two)
		time.Sleep(ownIdle/2 - time.Second)
		if ended() != 0 {
			t.Error("ended early")
		}
		i.arrive(one)
		time.Sleep(ownIdle)
		if mustTake(t, i, h, up, one) != p {
			t.Error("not the same process after it came back")
		}
		// A held request goes on without a client.
		o, err := i.take(t.Context(), up, one, nil)
		if err != nil {
			t.Fatal(err)
		}
		i.leave(one)
		time.Sleep(2 * ownIdle)
		if ended() != 0 {
			t.Error("ended under a request")
		}
		i.Done(o)
		time.Sleep(ownIdle - time.Second)
		if ended() != 0 {
			t.Error("ended early after a request")
		}
		time.Sleep(time.Second)
		if ended() != 1 || len(i.conns) != 0 {
			t.Errorf("idle: %d ended, %d there", ended(), len(i.conns))
		}
		i.arrive(one)
		if mustTake(t, i, h, up, one) == p {
			t.Error("the process that has ended")
		}
		i.Close()
	})
}

// TestOwnWaitsForItsPredecessor: two processes of one agent would meet in its
// files.
func TestOwnWaitsForItsPredecessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, h, up := newTestIsolation(), newHerd(), &Upstream{Name: "s", MaxAgents: 9}
		h.grace = 5 * time.Second
		c := &client{agent: "name a"}
		i.arrive(c)
		mustTake(t, i, h, up, c)
		i.leave(c)
		time.Sleep(ownIdle + time.Second)
		i.arrive(c)
		hurry, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := i.take(hurry, up, c, h.start(c.agent, 9)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without time to wait: %v", err)
		}
		begun := time.Now()
		mustTake(t, i, h, up, c)
		if waited := time.Since(begun); waited != 3*time.Second || len(h.faults) > 0 {
			t.Errorf("waited %v, %v", waited, h.faults)
		}
		i.Close()
	})
}

func TestOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, h, up := newTestIsolation(), newHerd(), &Upstream{Name: "s", MaxAgents: 3}
		h.grace = time.Second
		clients := map[string]*client{}
		arrive := func(agent string) *client {
			c := &client{agent: agent, ends: true}
			clients[agent] = c
			i.arrive(c)
			return c
		}
		for _, agent := range []string{"a", "b", "c"} {
			mustTake(t, i, h, up, arrive(agent))
			time.Sleep(time.Second)
		}
		// Another server has places of its own.
		mustTake(t, i, newHerd(), &Upstream{Name: "other", MaxAgents: 1}, clients["a"])

		d := arrive("d")
		_, err := i.take(t.Context(), up, d, h.start("d", 3))
		if !errors.Is(err, ErrCrowded) || !strings.Contains(err.Error(), "maxProcesses is 3, and all are in use") {
			t.Errorf("all were in use a moment ago: %v", err)
		}
		busy, err := i.take(t.Context(), up, clients["a"], nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(restTime)
		begun := time.Now()
		mustTake(t, i, h, up, d) // b has rested longest; a is busy
		if !slices.Equal(h.ended, []string{"b"}) || time.Since(begun) != h.grace {
			t.Errorf("ended %v after %v", h.ended, time.Since(begun))
		}
		time.Sleep(restTime)
		i.Done(busy)
		// One that ends anyway makes room, and nobody else loses his place.
		i.leave(clients["c"])
		mustTake(t, i, h, up, arrive("e"))
		if !slices.Equal(h.ended, []string{"b", "c"}) {
			t.Errorf("ended %v", h.ended)
		}
		// Of d, who is here, and f, who is not, f goes, though d has rested longer.
		i.leave(clients["a"])
		f := &client{agent: "f"}
		i.arrive(f)
		mustTake(t, i, h, up, f)
		i.leave(f)
		time.Sleep(restTime)
		mustTake(t, i, h, up, clients["e"])
		mustTake(t, i, h, up, arrive("g"))
		if !slices.Equal(h.ended, []string{"b", "c", "a", "f"}) || len(h.faults) > 0 {
			t.Errorf("ended %v, %v", h.ended, h.faults)
		}
		i.Close()
		if len(i.conns) != 0 {
			t.Errorf("%d left", len(i.conns))
		}
	})
}

// TestOwnRaces: whatever comes together, no agent has two processes or another's,
// there are never too many, and none is left.
func TestOwnRaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, h, up := newTestIsolation(), newHerd(), &Upstream{Name: "s", MaxAgents: 4}
		h.grace = 3 * time.Second
		var wg sync.WaitGroup
		for n := range 8 {
			agent := fmt.Sprintf("agent %d", n)
			r := rand.New(rand.NewPCG(1, uint64(n)))
			wg.Go(func() {
				for range 60 {
					c := &client{agent: agent, ends: n%2 == 0}
					i.arrive(c)
					var calls sync.WaitGroup
					for range r.IntN(4) {
						pause, work := time.Duration(r.IntN(90))*time.Second, time.Duration(r.IntN(90))*time.Second
						calls.Go(func() {
							time.Sleep(pause)
							o, err := i.take(t.Context(), up, c, h.start(agent, 4))
							if err != nil {
								return
							}
							if o.Conn.owner != agent {
								t.Errorf("%s got the process of %s", agent, o.Conn.owner)
							}
							time.Sleep(work)
							i.Done(o)
						})
					}
					time.Sleep(time.Duration(r.IntN(60)) * time.Second)
					i.leave(c)
					calls.Wait()
					if r.IntN(10) == 0 {
						time.Sleep(ownIdle)
					}
				}
			})
		}
		wg.Wait()
		i.Close()
		if len(h.faults) > 0 || len(h.started) != len(h.ended) || len(i.conns)+len(i.clients) > 0 {
			t.Errorf("%d started, %d ended, %d and %d left, %v", len(h.started), len(h.ended), len(i.conns), len(i.clients), h.faults)
		}
		t.Logf("%d processes", len(h.started))
	})
}

// TestOwnTogether: the first requests of one agent, sent at once, begin one
// process; those of two begin two, side by side.
func TestOwnTogether(t *testing.T) {
	i, h, up := newTestIsolation(), newHerd(), &Upstream{Name: "s"}
	one, two := &client{agent: "one"}, &client{agent: "two"}
	i.arrive(one)
	i.arrive(two)
	var wg sync.WaitGroup
	for n := range 50 {
		c := []*client{one, two}[n%2]
		wg.Go(func() {
			o, err := i.take(t.Context(), up, c, h.start(c.agent, 2))
			if err != nil || o.Conn.owner != c.agent {
				t.Errorf("%s: %v, %v", c.agent, o, err)
			}
		})
	}
	wg.Wait()
	if len(h.started) != 2 || len(h.faults) > 0 {
		t.Errorf("started %v, %v", h.started, h.faults)
	}
	i.Close()
	if _, err := i.take(t.Context(), up, one, nil); err == nil || !strings.Contains(err.Error(), "closing") {
		t.Errorf("after the end: %v", err)
	}
}
