package jq

import (
	"maps"
	"time"
)

// Whose turn it is:
//
//   - Agents that have fewest programs running come first, then who came first. No agent
//     has all workers.
//   - An agent whose program was ended after slowTime or more, at its time limit mostly, is
//     slow for a minute. Slow agents together leave one worker to the others.
//   - Where all workers are busy nevertheless, the program that has run longest makes room
//     for an agent that is not slow, once it has had slowTime. It begins anew when it is
//     its turn again, within its own time.
const (
	slowTime = time.Second
	slowFor  = time.Minute
)

// next is the query that waits whose turn it is, or -1. p.mu must be held.
func (p *Pool) next() int {
	next, fewest := -1, len(p.slots)-1
	slowRun := 0
	for _, s := range p.slots {
		if s.busy && p.isSlow(s.agent) {
			slowRun++
		}
	}
	for i, w := range p.waiting {
		agent := w.document.Agent
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

// isSlow reports whether a program of an agent takes long now, or one was ended for that
// lately. p.mu must be held.
func (p *Pool) isSlow(agent string) bool {
	for _, s := range p.slots {
		if s.busy && s.agent == agent && time.Since(s.since) >= slowTime {
			return true
		}
	}
	return time.Now().Before(p.slow[agent])
}

// note remembers whose program was ended, if it took long. p.mu must be held.
func (p *Pool) note(s *slot) {
	if time.Since(s.since) < slowTime {
		return
	}
	maps.DeleteFunc(p.slow, func(_ string, until time.Time) bool { return time.Now().After(until) })
	p.slow[s.agent] = time.Now().Add(slowFor)
}

// oust has the program that has run longest make room for one of an agent, if that is not
// slow itself, as soon as it has had its time. p.mu must be held.
func (p *Pool) oust(agent string) {
	if p.isSlow(agent) {
		return
	}
	var longest *slot
	for _, s := range p.slots {
		if s.ousted {
			return // room comes
		}
		if s.busy && s.process != nil && !s.process.killed.Load() && (longest == nil || s.since.Before(longest.since)) {
			longest = s
		}
	}
	if longest == nil {
		return
	}
	if left := slowTime - time.Since(longest.since); left > 0 {
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
	longest.ousted = true
	longest.process.kill()
}
