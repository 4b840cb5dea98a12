// Package busytest measures how long something took, in tests on machines that
// others use, too.
package busytest

import (
	"sync"
	"testing"
	"time"
)

// waits is how often a call waits for a processor: in the test, in the proxy, in
// the process that it asks, and on the way back. On a busy machine it may take
// that many times longer than one timer is late.
const waits = 4

// A Clock knows by how much timers were late: what others on the machine took.
type Clock struct {
	mu   sync.Mutex
	late time.Duration // all together, without the timer that runs
	due  time.Time
}

// NewClock returns a Clock that runs until tb ends.
func NewClock(tb testing.TB) *Clock {
	const every = 20 * time.Millisecond
	c := &Clock{due: time.Now().Add(every)}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(every)
		for {
			select {
			case <-stop:
				return
			case <-timer.C:
			}
			c.mu.Lock()
			c.late += time.Since(c.due)
			c.due = time.Now().Add(every)
			c.mu.Unlock()
			timer.Reset(every)
		}
	}()
	tb.Cleanup(func() { close(stop); <-ended })
	return c
}

// An Instant is when something began.
type Instant struct {
	at   time.Time
	late time.Duration
}

// Now is the present Instant.
func (c *Clock) Now() Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Instant{time.Now(), c.late + max(time.Since(c.due), 0)}
}

// Since is the time since i, less what it would not have taken on a machine of its
// own. It is negative where little was done and others took much.
func (c *Clock) Since(i Instant) time.Duration {
	now := c.Now()
	return now.at.Sub(i.at) - waits*(now.late-i.late)
}
