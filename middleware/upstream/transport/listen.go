package transport

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode"
)

const (
	// firstPause is how long we wait before we go on with a stream that ended, if the
	// server asks for no time. It doubles up to maxPause.
	firstPause = time.Second
	maxPause   = time.Minute
	// leastAsked is the least that a server may ask for. It doubles up to mostAsked.
	leastAsked = 50 * time.Millisecond
	mostAsked  = 5 * time.Second
	// SteadyTime is how long a stream must last to count as one that works.
	SteadyTime = 10 * time.Second
)

// Pause is how long to wait before the next stream when the last n have been of no use,
// or before n tries; asked is what the server asks for, or 0.
func Pause(n int, asked time.Duration) time.Duration {
	if asked > 0 {
		return max(asked, min(leastAsked<<min(n, 10), mostAsked))
	}
	return min(firstPause<<min(n, 10), maxPause)
}

// Listen reads what belongs to no request until ctx ends, by GET, of which servers need
// not offer it. Missed is called when it goes on after it could not be read for a time.
func (h *HTTP) Listen(ctx context.Context, missed func()) {
	r := &reading{http: h, ctx: ctx, stream: true}
	lastID := ""
	opened, failed := false, false
	useless := 0 // streams in a row
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
			if strings.ContainsFunc(lastID, unicode.IsControl) {
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
			h.opts.Logger.Debug("the server has no stream of notifications", "status", resp.Status)
			return
		}
		if r.brought || time.Since(begun) > SteadyTime {
			useless = 0
		}
		if Sleep(ctx, Pause(useless, asked)) != nil {
			return
		}
		useless++
	}
}
