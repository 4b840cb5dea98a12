package guard

import (
	"fmt"
	"sync"

	"rlmproxy/pipeline/show"
)

// A BusyError says that there is no room for a request now.
type BusyError struct {
	Text string // what there is too much of
}

func (e *BusyError) Error() string {
	return "too_busy: " + e.Text + ": try again when some have ended"
}

// Accounts count the bytes that are held for each agent beside its cached results:
// requests that wait for their answers, answers that wait for their reader, URIs that it
// subscribed to. It is safe for concurrent use.
type Accounts struct {
	perAgent, all int64

	mu    sync.Mutex // guards the fields below
	held  map[string]int64
	sum   int64
	taken int64 // of sum, what leaves less for others: of each agent no more than half of all
	small int64 // of sum, what those hold that hold no more than smallHeld
}

// smallHeld is up to what an agent may hold of a quarter of an [Accounts], which those with
// more leave to it, whatever was counted for them though there was no room.
const smallHeld = 1 << 20

// An Account is what is held for one agent. A nil one counts nothing.
type Account struct {
	all   *Accounts
	agent string
}

// NewAccounts bounds what is held for one agent, and for all, in bytes.
func NewAccounts(perAgent, all int64) *Accounts {
	return &Accounts{perAgent: perAgent, all: all, held: map[string]int64{}}
}

// Of returns the account of an agent.
func (a *Accounts) Of(agent string) *Account { return &Account{a, agent} }

// Take counts n bytes, or says why there is no room for them, by a [BusyError]. An agent
// for which nothing is held may have any one thing that the others leave room for.
func (t *Account) Take(n int64) error {
	if t == nil {
		return nil
	}
	a := t.all
	a.mu.Lock()
	defer a.mu.Unlock()
	held, most := a.held[t.agent], a.all
	small := held+n <= smallHeld
	if !small {
		most -= a.all / 4
	}
	switch {
	case held > 0 && held+n > a.perAgent:
		return &BusyError{fmt.Sprintf("requests of this agent take more than %s bytes", show.Count(int(a.perAgent)))}
	case small && a.small+n <= a.all/4:
	case a.taken > 0 && a.taken+n > most:
		return &BusyError{"requests of all agents take too many bytes"}
	}
	a.count(t.agent, n)
	return nil
}

// Add counts n bytes that are held whether or not there is room for them: they leave
// less for requests.
func (t *Account) Add(n int64) {
	if t == nil {
		return
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.all.count(t.agent, n)
}

// Give takes back n bytes that were counted.
func (t *Account) Give(n int64) { t.Add(-n) }

// Over reports whether more than twice as much is held as there is room for.
func (t *Account) Over() bool {
	if t == nil {
		return false
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	return t.all.held[t.agent] > 2*t.all.perAgent || t.all.sum > 2*t.all.all
}

// count adds n to what an agent holds. a.mu must be held.
func (a *Accounts) count(agent string, n int64) {
	before := a.held[agent]
	now := before + n
	a.sum += n
	a.taken += min(now, a.all/2) - min(before, a.all/2)
	a.small += ifSmall(now) - ifSmall(before)
	if a.held[agent] = now; now == 0 {
		delete(a.held, agent)
	}
}

// ifSmall is what an agent holds that holds n bytes, if that is no more than smallHeld.
func ifSmall(n int64) int64 {
	if n > smallHeld {
		return 0
	}
	return n
}

// Held is how many bytes are held for all agents.
func (a *Accounts) Held() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sum
}
