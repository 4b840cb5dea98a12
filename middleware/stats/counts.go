package stats

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"rlmproxy/middleware/observe"
)

const (
	// maxTools bounds the tools, of all servers, that have figures of their own, as the
	// labels of metrics are bounded.
	maxTools = 500
	// buckets are of latencies, each twice as long as the one before: up to 34 minutes.
	buckets = 25
	// shortest is the upper bound of the first.
	shortest = 125 * time.Microsecond
)

// other is the server and the tool of those beyond maxTools.
const other = "other"

// Counts are what adds up: what a file has, or what is to be added to it. They encode as
// the file has them. The zero value has nothing.
type counts struct {
	Since   time.Time     `json:"since"`
	Schemas int64         `json:"schemas"`
	Tools   []*toolCounts `json:"tools"`
	Hours   []Hour        `json:"hours"`  // oldest first
	Recent  []Call        `json:"recent"` // oldest first

	index map[[2]string]*toolCounts // of Tools; nil: not made yet
}

type toolCounts struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Sums
	// Took counts calls that were not cancelled, by their latency: the first shorter than
	// shortest, each of the others up to twice as long.
	Took []int64 `json:"took"`
}

func (c *counts) empty() bool { return len(c.Hours) == 0 && len(c.Tools) == 0 }

// called counts a call, with the tokens that count. Among the last calls it is as it was.
func (c *counts) called(o *observe.Call, in, out int) {
	sums := Sums{Calls: 1, TokensIn: int64(in), TokensOut: int64(out), Saved: int64(in) - int64(out)}
	if o.Outcome == observe.Error {
		sums.Errors = 1
	}
	if o.Cut {
		sums.Cut = 1
	}
	c.begun(o.Begun)
	c.hour(o.Begun).add(sums)
	server, tool := o.Label()
	t := c.tool(server, tool)
	t.Sums.add(sums)
	if o.Outcome != observe.Cancelled {
		at := min(bits.Len64(uint64(max(o.Took, 0)/shortest)), buckets-1)
		t.Took = addBuckets(t.Took, append(make([]int64, at), 1))
	}
	if len(c.Recent) >= 2*MaxRecent {
		c.Recent = slices.Clone(newest(c.Recent, MaxRecent))
	}
	c.Recent = append(c.Recent, Call{
		Time: o.Begun, Server: server, Tool: tool, Agent: o.Agent, Client: o.Client,
		Millis:   float64(o.Took.Microseconds()) / 1000,
		TokensIn: o.TokensIn, TokensOut: o.TokensOut, Cut: o.Cut, Outcome: string(o.Outcome), Error: o.Error,
		CacheID: string(o.CacheID), ReadID: string(o.ReadID),
	})
}

// newest are the last of a list, at most so many.
func newest[T any](list []T, most int) []T { return list[max(0, len(list)-most):] }

// listed counts what a client was sent at a time of the proxy's own tools.
func (c *counts) listed(tokens int64, at time.Time) {
	c.begun(at)
	c.Schemas += tokens
	c.hour(at).add(Sums{Schemas: tokens, Saved: -tokens})
}

func (c *counts) begun(at time.Time) {
	if at = at.UTC().Truncate(time.Second); c.Since.IsZero() || at.Before(c.Since) {
		c.Since = at
	}
}

// hour returns the one that a time is in.
func (c *counts) hour(at time.Time) *Sums {
	if len(c.Hours) >= 2*MaxHours { // as where nothing is written
		c.Hours = slices.Clone(newest(c.Hours, MaxHours))
	}
	begin := at.UTC().Truncate(time.Hour)
	i, found := slices.BinarySearchFunc(c.Hours, begin, func(h Hour, t time.Time) int { return h.Begin.Compare(t) })
	if !found {
		c.Hours = slices.Insert(c.Hours, i, Hour{Begin: begin})
	}
	return &c.Hours[i].Sums
}

// tool returns the figures of a tool, or those of all that have none of their own.
func (c *counts) tool(server, tool string) *toolCounts {
	if c.index == nil {
		c.index = map[[2]string]*toolCounts{}
		for _, t := range c.Tools {
			c.index[[2]string{t.Server, t.Tool}] = t
		}
	}
	key := [2]string{server, tool}
	if c.index[key] == nil && len(c.Tools) >= maxTools {
		key = [2]string{other, other}
	}
	t := c.index[key]
	if t == nil {
		t = &toolCounts{Server: key[0], Tool: key[1]}
		c.Tools, c.index[key] = append(c.Tools, t), t
	}
	return t
}

// merge adds what more has, and lets go of what is too old at a time, or too much.
func (c *counts) merge(more *counts, now time.Time) {
	if !more.Since.IsZero() {
		c.begun(more.Since)
	}
	c.Schemas += more.Schemas
	for _, t := range more.Tools {
		own := c.tool(t.Server, t.Tool)
		own.Sums.add(t.Sums)
		own.Took = addBuckets(own.Took, t.Took)
	}
	for _, h := range more.Hours {
		c.hour(h.Begin).add(h.Sums)
	}
	// What a clock that was wrong has made of a time to come would be the newest until then.
	soon := now.Add(time.Hour)
	c.Hours = slices.DeleteFunc(c.Hours, func(h Hour) bool { return now.Sub(h.Begin) > MaxHours*time.Hour || h.Begin.After(soon) })
	c.Hours = newest(c.Hours, MaxHours)
	c.Recent = slices.DeleteFunc(append(c.Recent, more.Recent...), func(c Call) bool { return c.Time.After(soon) })
	slices.SortStableFunc(c.Recent, func(a, b Call) int { return a.Time.Compare(b.Time) })
	c.Recent = newest(c.Recent, MaxRecent)
}

func (s *Sums) add(o Sums) {
	s.Calls += o.Calls
	s.Errors += o.Errors
	s.Cut += o.Cut
	s.TokensIn += o.TokensIn
	s.TokensOut += o.TokensOut
	s.Schemas += o.Schemas
	s.Saved += o.Saved
}

func addBuckets(to, from []int64) []int64 {
	for len(to) < min(len(from), buckets) {
		to = append(to, 0)
	}
	for i, n := range from[:min(len(from), buckets)] {
		to[i] += n
	}
	return to
}

// report is what the counts say.
func (c *counts) report() *Report {
	r := &Report{Since: c.Since, Tools: []Tool{}, Hours: []Hour{}, Recent: []Call{}, Proxies: []Proxy{}}
	for _, t := range c.Tools {
		r.Total.add(t.Sums)
		r.Tools = append(r.Tools, Tool{Server: t.Server, Tool: t.Tool, Sums: t.Sums, P50: quantile(t.Took, 50), P95: quantile(t.Took, 95)})
	}
	r.Total.add(Sums{Schemas: c.Schemas, Saved: -c.Schemas})
	slices.SortFunc(r.Tools, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(b.Saved, a.Saved), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
	r.Hours = append(r.Hours, c.Hours...)
	r.Recent = append(r.Recent, newest(c.Recent, MaxRecent)...)
	slices.Reverse(r.Recent)
	return r
}

// quantile is the upper bound, in milliseconds, of the latencies of so many percent of
// the calls, or 0 if there are none.
func quantile(took []int64, percent int64) float64 {
	var all int64
	for _, n := range took {
		all += n
	}
	var sum int64
	for i, n := range took {
		if sum += n; n > 0 && sum*100 >= all*percent {
			return (shortest << i).Seconds() * 1000
		}
	}
	return 0
}
