package transport

import (
	"context"
	"net/http"
	"time"
)

const (
	// firstPause is how long we wait before we go on with a stream that ended,
	// if the server named no time. It doubles while that fails.
	firstPause = time.Second
	// minPause is the least that a server may name. For what belongs to no request it
	// doubles while streams bring nothing, up to maxMinPause.
	minPause    = 50 * time.Millisecond
	maxMinPause = 5 * time.Second
	// steadyTime is how long a stream must last to count as one that works.
	steadyTime = 10 * time.Second
)

// Listen reads what belongs to no request until ctx ends, by GET, of which servers need
// not offer it. Missed is called when it goes on after it could not be read for a time.
func (h *HTTP) Listen(ctx context.Context, missed func()) {
	r := &reading{http: h, ctx: ctx, stream: true}
	pauses := newPauses()
	lastID := ""
	opened, failed := false, false
	for ctx.Err() == nil {
		begun := time.Now()
		asked := time.Duration(0)
		r.brought = false
		resp, err := h.get(ctx, lastID)
		switch {
		case err != nil:
			failed = true
		case resp.StatusCode/100 == 2 && isStream(resp):
			if failed {
				missed()
			}
			opened, failed = true, false
			events, _ := r.events(resp, lastID) // it ends somehow
			asked, lastID = events.retry, events.lastID
			if !canBeSent(lastID) {
				lastID = ""
			}
		case resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests:
			resp.Body.Close()
			failed = true
		default:
			if opened {
				_ = h.refused(ctx, resp, nil) // finds out whether the server has forgotten the session
			}
			resp.Body.Close()
			h.opts.Logger.Debug("no stream for what belongs to no request", "status", resp.Status)
			return
		}
		if Sleep(ctx, pauses.next(time.Since(begun), r.brought, asked)) != nil {
			return
		}
	}
}

// pauses are how long to wait between streams for what belongs to no request.
type pauses struct {
	pause time.Duration // where the server asks for none
	least time.Duration // where it does
}

func newPauses() pauses { return pauses{firstPause, minPause} }

// next is the wait behind a stream, or a try at one, that lasted so long, after
// which the server asks for a pause, or 0. Brought says that something came on it.
func (p *pauses) next(lasted time.Duration, brought bool, asked time.Duration) time.Duration {
	if brought || lasted > steadyTime {
		p.least = minPause
	}
	if asked > 0 {
		wait := max(asked, p.least)
		p.least = min(2*p.least, maxMinPause)
		return wait
	}
	if lasted > steadyTime {
		p.pause = firstPause
	}
	wait := p.pause
	p.pause = min(2*p.pause, maxRetry)
	return wait
}
