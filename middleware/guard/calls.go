package guard

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A RateError says that an agent has begun too many calls lately.
type RateError struct {
	Text string        // how many it may begin
	Wait time.Duration // until there is room for one
}

func (e *RateError) Error() string {
	return fmt.Sprintf("rate_limited: %s: try again in %v", e.Text, e.Wait)
}

// Calls bound the calls of each agent, those that run and those that begin. It is safe
// for concurrent use.
type Calls struct {
	what               string // is counted
	running, perMinute int
	tally              *tally // nil: this replica counts for itself

	mu     sync.Mutex // guards the fields below
	agents map[string]*caller
	swept  time.Time // when those that are as good as new were forgotten last
}

// A caller is an agent.
type caller struct {
	running int
	changed uint64        // when running was changed last, see [tally]
	rate    *rate.Limiter // nil: any number may begin
	refused time.Time     // until when the store has no room for a call
}

// NewCalls lets so many calls of one agent, by the name of what, run at one time, and so
// many begin in a minute, all at once if need be; zero is any number.
func NewCalls(what string, running, perMinute int) *Calls {
	return &Calls{what: what, running: running, perMinute: perMinute, agents: map[string]*caller{}}
}

// Begin counts a call of an agent until it is done, or says why it may not begin, by a
// [BusyError] or a [RateError]. Among replicas that takes a round trip to their store. What
// done has to tell it, it does not wait for.
func (c *Calls) Begin(agent string) (done func(), err error) {
	c.mu.Lock()
	a, err := c.enter(agent)
	if err != nil {
		c.mu.Unlock()
		return nil, err
	}
	n, at := a.running, a.changed
	c.mu.Unlock()

	counted := false
	if c.tally.counts(agent) {
		counted, err = c.tally.begin(agent, n, at)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	var over *RateError
	switch {
	case errors.As(err, &over):
		a.refused = time.Now().Add(over.Wait)
		over.Wait = roundUp(over.Wait)
	case err == nil && a.rate != nil:
		// Also of a call that the store has counted: it may be away for the next.
		if r := a.rate.Reserve(); r.Delay() > 0 {
			wait := r.Delay()
			r.Cancel()
			if !counted {
				err = c.overRate(roundUp(wait))
			}
		}
	}
	if err != nil {
		told := a.changed != at // with another call, maybe, which the store has counted
		c.leave(agent, a, told)
		return nil, err
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.leave(agent, a, true)
	}, nil
}

// enter counts a call that runs, unless it can be refused without asking others. c.mu must
// be held.
func (c *Calls) enter(agent string) (*caller, error) {
	a := c.agents[agent]
	if a == nil {
		c.sweep()
		a = &caller{}
		if c.perMinute > 0 {
			a.rate = c.newRate()
		}
		c.agents[agent] = a
	}
	if c.running > 0 && a.running >= c.running {
		return nil, c.busy()
	}
	if wait := time.Until(a.refused); wait > 0 {
		return nil, c.overRate(roundUp(wait))
	}
	a.running++
	a.changed = c.tally.change(agent, false)
	return a, nil
}

// leave counts a call that runs no more. Tell says that the store is to know. c.mu must be held.
func (c *Calls) leave(agent string, a *caller, tell bool) {
	a.running--
	a.changed = c.tally.change(agent, tell)
	if a.idle() {
		delete(c.agents, agent)
	}
}

func (c *Calls) newRate() *rate.Limiter {
	return rate.NewLimiter(rate.Every(time.Minute/time.Duration(c.perMinute)), c.perMinute)
}

func (c *Calls) busy() error {
	return &BusyError{fmt.Sprintf("this agent has %d %s open, the most allowed", c.running, c.what)}
}

func (c *Calls) overRate(wait time.Duration) *RateError {
	return &RateError{fmt.Sprintf("this agent has begun %d %s within a minute, the most allowed", c.perMinute, c.what), wait}
}

// Running is how many calls of all agents run, those of other replicas not counted.
func (c *Calls) Running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, a := range c.agents {
		n += a.running
	}
	return n
}

// roundUp rounds to a whole second.
func roundUp(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// idle reports whether a is as good as new.
func (a *caller) idle() bool {
	return a.running == 0 && !time.Now().Before(a.refused) && (a.rate == nil || a.rate.Tokens() >= float64(a.rate.Burst()))
}

// sweep forgets, once a minute, the agents that are as good as new. c.mu must be held.
func (c *Calls) sweep() {
	if c.perMinute == 0 || time.Since(c.swept) < time.Minute {
		return
	}
	c.swept = time.Now()
	for agent, a := range c.agents {
		if a.idle() {
			delete(c.agents, agent)
		}
	}
}
