package busytest

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestClock: where timers are on time, time is what it is; where they are late,
// what they were late by counts for each wait.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock(t)
		begun := c.Now()
		time.Sleep(3 * time.Second)
		if took := c.Since(begun); took != 3*time.Second {
			t.Errorf("%v", took)
		}
		begun = c.Now()
		c.mu.Lock()
		c.due = c.due.Add(-time.Second) // the timer that runs is a second late
		c.mu.Unlock()
		for _, want := range []time.Duration{-waits * time.Second, (1 - waits) * time.Second} { // at once, and when it has ended
			if took := c.Since(begun); took != want {
				t.Errorf("%v, want %v", took, want)
			}
			time.Sleep(time.Second)
		}
	})
}
