package guard

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestRound: turns go round the agents, in whichever order their calls came, and the
// calls of one keep theirs.
func TestRound(t *testing.T) {
	for _, tt := range []struct {
		name      string
		max, most int64
		come      []string // calls: an agent and what it takes, for a second each
		want      string   // in which they have their turns
	}{
		{"one after another", 1, 0, []string{"a1", "a1", "a1", "b1", "c1", "b1"}, "a b c a b a"},
		{"who does not fit keeps others waiting", 3, 0, []string{"a2", "b3", "c1"}, "a b c"},
		{"a bound for each", 9, 1, []string{"a1", "a1", "b1", "a1"}, "a b a a"},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLane(tt.max)
			l.most = tt.most
			var mu sync.Mutex
			var got []string
			var wg sync.WaitGroup
			for _, call := range tt.come {
				agent, n := call[:1], int64(call[1]-'0')
				wg.Go(func() {
					if _, err := l.take(t.Context(), agent, n); err != nil {
						t.Error(err)
					}
					mu.Lock()
					got = append(got, agent)
					mu.Unlock()
					time.Sleep(time.Second)
					l.give(agent, n)
				})
				synctest.Wait()
			}
			wg.Wait()
			if s := fmt.Sprint(got); s != "["+tt.want+"]" {
				t.Errorf("%s: %s, want %s", tt.name, s, tt.want)
			}
			if len(l.users)+len(l.queue) > 0 || l.taken != 0 {
				t.Errorf("%s: %d agents are left", tt.name, len(l.users))
			}
		})
	}
}

// TestFlood: an agent with many calls delays another by one of them, not by all.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(64<<20, nil)
		work := func(agent string) time.Duration {
			begun := time.Now()
			h := b.Hold(agent)
			defer h.Release()
			if err := h.Work(t.Context(), 100<<10); err != nil {
				t.Error(err)
			}
			waited := time.Since(begun)
			time.Sleep(10 * time.Millisecond)
			return waited
		}
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() { work("greedy") })
		}
		time.Sleep(time.Millisecond)
		var waits []time.Duration
		for range 20 {
			waits = append(waits, work("other"))
			time.Sleep(time.Millisecond)
		}
		if most := slices.Max(waits); most > 10*time.Millisecond {
			t.Errorf("it waited %v", most)
		}
		wg.Wait()
	})
}

// TestAccounts: what one agent leaves is another's, up to the bound of each and of all,
// and who holds little has a part that the others leave to it.
func TestAccounts(t *testing.T) {
	all := NewAccounts(10*mb, 60*mb)
	for _, tt := range []struct {
		agent string
		n     int64
		ok    bool
	}{
		{"a", 30 * mb, true}, // larger than what one may have, but alone
		{"a", 1, false},
		{"b", 8 * mb, true},
		{"b", 3 * mb, false}, // 10 MB each
		{"c", 8 * mb, false}, // 30+8+8 are over three quarters of 60
		{"c", 1 * mb, true},
		{"a", -30 * mb, true},
		{"c", 8 * mb, true},
	} {
		acc := all.Of(tt.agent)
		if tt.n < 0 {
			acc.Give(-tt.n)
			continue
		}
		if err := acc.Take(tt.n); (err == nil) != tt.ok {
			t.Errorf("%s takes %d: %v", tt.agent, tt.n, err)
		}
	}
	if got := all.Held(); got != 17*mb {
		t.Errorf("%d bytes are held", got)
	}
}

// TestAccountsOverfull: what is counted though there is no room, as unread answers are,
// leaves others their part.
func TestAccountsOverfull(t *testing.T) {
	all := NewAccounts(30*mb, 60*mb)
	all.Of("a").Add(50 * mb)
	all.Of("a").Add(50 * mb)
	for _, tt := range []struct {
		agent string
		n     int64
		ok    bool
	}{
		{"a", 1, false},
		{"b", 1 << 10, true},
		{"b", 10 * mb, true}, // of the half that a leaves
		{"c", 10 * mb, false},
		{"c", 1 << 10, true},
	} {
		if err := all.Of(tt.agent).Take(tt.n); (err == nil) != tt.ok {
			t.Errorf("%s takes %d: %v", tt.agent, tt.n, err)
		}
	}
	all.Of("d").Add(100 * mb)
	for i := range 20 {
		if err := all.Of(fmt.Sprint(i)).Take(mb); (err == nil) != (i < 14) { // with b and c a quarter of 60
			t.Errorf("small agent %d: %v", i, err)
		}
	}
	for agent, n := range map[string]int64{"a": 100 * mb, "b": 10*mb + 1<<10, "c": 1 << 10, "d": 100 * mb} {
		all.Of(agent).Give(n)
	}
	for i := range 14 {
		all.Of(fmt.Sprint(i)).Give(mb)
	}
	if all.Held() != 0 || all.taken != 0 || all.small != 0 || len(all.held) != 0 {
		t.Errorf("%d, %d and %d bytes are held in the end", all.Held(), all.taken, all.small)
	}
}

// TestCalls: so many calls of an agent run, and begin in a minute, whatever others do.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCalls("calls", 2, 5)
		begin := func(agent, want string) func() {
			t.Helper()
			done, err := c.Begin(agent)
			if got := fmt.Sprint(err); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", agent, got, want)
			}
			return done
		}
		one, two := begin("a", "nil"), begin("a", "nil")
		begin("a", "this agent has 2 calls open")
		other := begin("b", "nil")
		one()
		two()
		for range 3 {
			begin("a", "nil")()
		}
		begin("a", "rate_limited: this agent has begun 5 calls within a minute, the most allowed: try again in 12s")
		time.Sleep(12 * time.Second)
		begin("a", "nil")()
		other()
		time.Sleep(5 * time.Minute)
		begin("c", "nil")()
		if len(c.agents) != 1 {
			t.Errorf("%d agents are known", len(c.agents))
		}
	})
}

// TestTurnRests: a call that waits for something else leaves its turn to others, and has it
// again at once, in whichever order it ends.
func TestTurnRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		take := func() *Turn {
			turn, err := turns.Take(t.Context(), "a")
			if err != nil {
				t.Error(err)
			}
			return turn
		}
		first := take()
		again, twice := first.Rest(), first.Rest()
		second := take()
		again()
		twice()
		if n := turns.lane.taken; n != 2 {
			t.Errorf("%d turns are taken", n)
		}
		third := make(chan *Turn)
		go func() { third <- take() }()
		synctest.Wait()
		again = second.Rest()
		second.End() // while it rests
		synctest.Wait()
		select {
		case <-third:
			t.Error("a third runs beside the first")
		default:
		}
		first.End()
		again()
		(<-third).End()
		if len(turns.lane.users) != 0 || turns.lane.taken != 0 {
			t.Errorf("%d agents, %d turns are left", len(turns.lane.users), turns.lane.taken)
		}
	})
}
