package worker

import (
	"sync"
	"time"
)

// A clock counts the time in which a task works, and calls over when that has passed its
// limit. One without a limit counts nothing.
type clock struct {
	mu    sync.Mutex // guards the fields below
	left  time.Duration
	since time.Time
	timer *time.Timer // nil: no limit, or it is stopped
	waits bool        // it is paused
	over  bool
	late  func() // is called once, when the limit has passed
}

func newClock(limit time.Duration, over func()) *clock {
	c := &clock{left: limit, since: time.Now(), late: over}
	if limit > 0 {
		c.mu.Lock() // it may look at once
		defer c.mu.Unlock()
		c.timer = time.AfterFunc(limit, c.look)
	}
	return c
}

// look calls late if the limit has passed, once.
func (c *clock) look() {
	c.mu.Lock()
	late := c.timer != nil && !c.over && !c.waits && time.Since(c.since) >= c.left // it may have been paused just now
	c.over = c.over || late
	c.mu.Unlock()
	if late {
		c.late()
	}
}

// pause stops the clock, unless its limit has passed by now.
func (c *clock) pause() {
	c.look()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.left -= time.Since(c.since)
		c.waits = true
	}
}

func (c *clock) goOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.since, c.waits = time.Now(), false
		c.timer.Reset(max(c.left, 0))
	}
}

// renew has the clock go on with so much time.
func (c *clock) renew(left time.Duration) {
	c.mu.Lock()
	c.left = left
	c.mu.Unlock()
	c.goOn()
}

// stop ends the clock, and reports whether the limit had passed.
func (c *clock) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	return c.over
}
