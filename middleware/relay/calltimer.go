package relay

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A callTimer ends a request that takes too long. Progress gives it all its time
// anew and it stands still while a person is asked, both up to maxCallTime.
type callTimer struct {
	limit time.Duration
	end   context.CancelCauseFunc
	cause error

	mu     sync.Mutex // guards the fields below
	timer  *time.Timer
	last   time.Time // after which neither progress nor a question counts
	paused int
}

// maxCallTime bounds a request whose server goes on to report progress, or to wait
// for an answer.
const maxCallTime = 24 * time.Hour

func newCallTimer(limit time.Duration, end context.CancelCauseFunc) *callTimer {
	t := &callTimer{limit: limit, end: end, cause: fmt.Errorf("%w after %v", ErrTimeout, limit), last: time.Now().Add(maxCallTime)}
	t.timer = time.AfterFunc(limit, t.expired)
	return t
}

func (t *callTimer) expired() {
	t.mu.Lock()
	stands := t.paused > 0 && time.Now().Before(t.last)
	t.mu.Unlock()
	if !stands {
		t.end(t.cause)
	}
}

// again begins anew.
func (t *callTimer) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused == 0 && time.Now().Before(t.last) {
		t.timer.Reset(t.limit)
	}
}

// pause stops the time until the function that it returns is called.
func (t *callTimer) pause() func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused == 0 { // nor stopped
		t.timer.Reset(time.Until(t.last))
	}
	t.paused++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.paused--; t.paused == 0 {
			t.timer.Reset(max(0, min(t.limit, time.Until(t.last))))
		}
	}
}

func (t *callTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
	t.paused++ // for good
}
