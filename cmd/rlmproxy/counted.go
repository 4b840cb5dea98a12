package main

import (
	"slices"
	"sync"
	"time"

	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/stats"
)

// A counted has what this process has counted, for its page. It is safe for concurrent use.
type counted struct {
	mu     sync.Mutex // guards the fields below
	total  stats.Sums
	since  time.Time
	hours  []stats.Hour // oldest first
	recent []stats.Call // oldest first
}

func newCounted() *counted { return &counted{} }

// Called implements [observe.Observer].
func (t *counted) Called(c *observe.Call) {
	name := c.Name
	if name == "" {
		name = c.Method
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		t.since = c.Begun
	}
	hour := c.Begun.UTC().Truncate(time.Hour)
	i, ok := slices.BinarySearchFunc(t.hours, hour, func(h stats.Hour, at time.Time) int { return h.Begin.Compare(at) })
	if !ok {
		t.hours = slices.Insert(t.hours, i, stats.Hour{Begin: hour})
	}
	for _, s := range []*stats.Sums{&t.total, &t.hours[i].Sums} {
		s.Calls++
		if c.Outcome == observe.Error {
			s.Errors++
		}
		if c.Cut {
			s.Cut++
		}
		s.TokensIn += int64(c.TokensIn)
		s.TokensOut += int64(c.TokensOut)
		s.Saved = s.TokensIn - s.TokensOut
	}
	t.hours = t.hours[max(0, len(t.hours)-stats.MaxHours):]
	t.recent = append(t.recent, stats.Call{
		Time: c.Begun, Server: c.Server, Tool: name, Agent: c.Agent, Client: c.Client,
		Millis: float64(c.Took.Microseconds()) / 1000, TokensIn: c.TokensIn, TokensOut: c.TokensOut, Cut: c.Cut,
		Outcome: string(c.Outcome), Error: c.Error, CacheID: string(c.CacheID), ReadID: string(c.ReadID),
	})
	t.recent = t.recent[max(0, len(t.recent)-stats.MaxRecent):]
}

// report is what was counted, and the proxy that counted it.
func (t *counted) report(proxy stats.Proxy) stats.Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := stats.Report{
		Since: t.since, Total: t.total, Tools: []stats.Tool{}, Hours: append([]stats.Hour{}, t.hours...),
		Recent: append([]stats.Call{}, t.recent...), Proxies: []stats.Proxy{proxy},
	}
	slices.Reverse(r.Recent)
	return r
}
