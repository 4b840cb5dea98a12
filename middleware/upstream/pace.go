package upstream

import (
	"context"
	"time"
)

const (
	// firstPause is how long we wait before we go on with a stream that ended,
	// if the server named no time. It doubles while that fails.
	firstPause = time.Second
	// minPause is the least that a server may name. For what belongs to no call it
	// doubles while streams bring nothing, up to maxFloor.
	minPause = 50 * time.Millisecond
	maxFloor = 5 * time.Second
	// steady is how long a stream must last to count as one that works.
	steady = 10 * time.Second
)

// A pace is how long to wait between streams for what belongs to no call.
type pace struct {
	pause time.Duration // where the server asks for none
	floor time.Duration // the least where it does
}

func newPace() pace { return pace{firstPause, minPause} }

// next is the wait behind a stream, or a try at one, that lasted so long, after
// which the server asks for a pause, or 0. Brought says that something came on it.
func (p *pace) next(lasted time.Duration, brought bool, asked time.Duration) time.Duration {
	if brought || lasted > steady {
		p.floor = minPause
	}
	if asked > 0 {
		wait := max(asked, p.floor)
		p.floor = min(2*p.floor, maxFloor)
		return wait
	}
	if lasted > steady {
		p.pause = firstPause
	}
	wait := p.pause
	p.pause = min(2*p.pause, maxRetry)
	return wait
}

// sleep returns after d, or with the cause of ctx's end.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
