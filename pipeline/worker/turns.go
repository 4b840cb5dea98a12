package worker

import (
	"maps"
	"time"
)

// Whose turn it is:
//
//   - Agents that have fewest tasks running come first, then who came first. No agent
//     has all workers.
//   - An agent whose task was ended after slowTime or more, at its time limit mostly, is
//     slow for a minute. Slow agents together leave one worker to the others.
//   - Where all workers are busy nevertheless, a task makes room for an agent that is not
//     slow, once it has had slowTime. It begins anew when it is its turn again, within its
//     own time. One that has asked its host for something cannot begin anew: it has
//     askedTime, and ends then.
const (
	slowTime  = time.Second
	slowFor   = time.Minute
	askedTime = time.Minute
)

// next is the task that waits whose turn it is, or -1. p.mu must be held.
func (p *Pool) next() int {
	next, fewest := -1, p.opts.PerAgent
	slowRun := 0
	for _, s := range p.slots {
		if s.busy && p.isSlow(s.agent) {
			slowRun++
		}
	}
	for i, w := range p.waiting {
		agent := w.key.Agent
		if n := p.running(agent); n < fewest && (slowRun < len(p.slots)-1 || !p.isSlow(agent)) {
			next, fewest = i, n
		}
	}
	return next
}

// running is how many slots agent has. p.mu must be held.
func (p *Pool) running(agent string) (n int) {
	for _, s := range p.slots {
		if s.busy && s.agent == agent {
			n++
		}
	}
	return n
}

// isSlow reports whether a task of an agent takes long now, or one was ended for that
// lately. p.mu must be held.
func (p *Pool) isSlow(agent string) bool {
	for _, s := range p.slots {
		if s.busy && s.agent == agent && time.Since(s.since) >= slowTime {
			return true
		}
	}
	return time.Now().Before(p.slow[agent])
}

// note remembers whose task was ended, if it took long. p.mu must be held.
func (p *Pool) note(s *slot) {
	if time.Since(s.since) < slowTime {
		return
	}
	maps.DeleteFunc(p.slow, func(_ string, until time.Time) bool { return time.Now().After(until) })
	p.slow[s.agent] = time.Now().Add(slowFor)
}

// oust has the task whose time is over first make room for one of an agent, if that is not
// slow itself, as soon as it has had its time. p.mu must be held.
func (p *Pool) oust(agent string) {
	if p.isSlow(agent) {
		return
	}
	var first *slot
	var left time.Duration // of its time
	for _, s := range p.slots {
		if s.ousted {
			return // room comes
		}
		if !s.busy || s.child == nil || s.child.killed.Load() {
			continue
		}
		its := slowTime - time.Since(s.since)
		if s.child.asked.Load() {
			its += askedTime - slowTime
		}
		if first == nil || its < left {
			first, left = s, its
		}
	}
	if first == nil {
		return
	}
	if left > 0 {
		if p.look != nil {
			p.look.Stop()
		}
		p.look = time.AfterFunc(left, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if !p.closed {
				p.dispatch()
			}
		})
		return
	}
	first.ousted = true
	first.child.kill()
}
