package guard

import (
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

	mu     sync.Mutex // guards the fields below
	agents map[string]*caller
	swept  time.Time // when those that are as good as new were forgotten last
}

// A caller is an agent.
type caller struct {
	running int
	rate    *rate.Limiter // nil: any number may begin
}

// NewCalls lets so many calls of one agent, by the name of what, run at one time, and so
// many begin in a minute, all at once if need be; zero is any number.
func NewCalls(what string, running, perMinute int) *Calls {
	return &Calls{what: what, running: running, perMinute: perMinute, agents: map[string]*caller{}}
}

// Begin counts a call of an agent until it is done, or says why it may not begin, by a
// [BusyError] or a [RateError].
func (c *Calls) Begin(agent string) (done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.agents[agent]
	if a == nil {
		c.sweep()
		a = &caller{}
		if c.perMinute > 0 {
			a.rate = rate.NewLimiter(rate.Every(time.Minute/time.Duration(c.perMinute)), c.perMinute)
		}
		c.agents[agent] = a
	}
	if c.running > 0 && a.running >= c.running {
		return nil, &BusyError{fmt.Sprintf("this agent has %d %s open, the most allowed", a.running, c.what)}
	}
	if a.rate != nil {
		if r := a.rate.Reserve(); r.Delay() > 0 {
			wait := r.Delay()
			r.Cancel()
			return nil, &RateError{fmt.Sprintf("this agent has begun %d %s within a minute, the most allowed", c.perMinute, c.what), roundUp(wait)}
		}
	}
	a.running++
	return func() { c.end(agent, a) }, nil
}

// Running is how many calls of all agents run.
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

func (c *Calls) end(agent string, a *caller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.running--
	if a.idle() {
		delete(c.agents, agent)
	}
}

// idle reports whether a is as good as new.
func (a *caller) idle() bool {
	return a.running == 0 && (a.rate == nil || a.rate.Tokens() >= float64(a.rate.Burst()))
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
