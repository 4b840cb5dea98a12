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
		synctest.Wait() // the next timer is due in 20 ms
		begun = c.Now()
		c.mu.Lock()
		c.due = c.due.Add(-time.Second)
		c.mu.Unlock()
		// By what the timer is late up to now, and by what it was in the end.
		for _, want := range []time.Duration{-waits * 980 * time.Millisecond, time.Second - waits*time.Second} {
			if took := c.Since(begun); took != want {
				t.Errorf("%v, want %v", took, want)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
	})
}
