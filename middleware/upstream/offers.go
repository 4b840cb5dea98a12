package upstream

import (
	"context"
	"encoding/json"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/upstream/transport"
)

// A server that registers its tools one by one tells of each: its lists are read
// again a moment after the first, and at most once in listPause.
const (
	settleTime = 50 * time.Millisecond
	listPause  = time.Second
	// A server whose lists change without end is asked less and less often after so many
	// times: each time clients are told, and may read all of it again.
	maxInARow    = 5
	maxListPause = 30 * time.Second
)

// Offers are what a server offers.
type Offers struct {
	Info           *Info // what it says of itself
	Tools, Prompts []Tool
	LeftOut        LeftOut // of tools
}

func (u *Upstream) markStale() {
	select {
	case u.stale <- struct{}{}:
	default:
	}
}

// keepOffers reads the lists again when the server has said that they have changed,
// while a is in service.
func (u *Upstream) keepOffers(a *active) {
	pause, inARow := listPause, 0
	for last := (time.Time{}); ; last = time.Now() {
		select {
		case <-u.stale:
		case <-a.ctx.Done():
			return
		}
		switch quiet := time.Since(last); {
		case quiet > 2*pause:
			pause, inARow = listPause, 0
		case quiet < pause && inARow < maxInARow:
			inARow++
		case quiet < pause && pause < maxListPause:
			if pause = min(pause+pause/2, maxListPause); pause == maxListPause {
				u.logger.Warn("the server keeps changing its lists", "read_every", pause)
			}
		}
		if transport.Sleep(a.ctx, max(settleTime, pause-time.Since(last))) != nil {
			return
		}
		select {
		case <-u.stale: // said meanwhile
		default:
		}
		u.refresh(a)
	}
}

// refresh reads the lists again and tells of it: clients may have seen what has come
// and gone meanwhile.
func (u *Upstream) refresh(a *active) {
	ctx, cancel := context.WithTimeout(a.ctx, u.opts.ConnectTimeout)
	defer cancel()
	all, err := u.readOffers(ctx, a.session)
	if err != nil {
		if a.ctx.Err() == nil {
			u.logger.Warn("the server's lists could not be read", "error", err)
		}
		return
	}
	u.mu.Lock()
	current := u.active == a
	if current {
		u.offers, u.seen = all, true
	}
	u.mu.Unlock()
	if current {
		u.opts.Changed()
	}
}

// readOffers asks the server what it offers, but not for lists that it does not
// declare; only tools some forget to declare.
func (u *Upstream) readOffers(ctx context.Context, s *session) (Offers, error) {
	all := Offers{Info: s.info}
	var err error
	if all.Tools, all.LeftOut, err = u.list(ctx, s, "tools", checkTool); err != nil {
		return Offers{}, err
	}
	if s.http != nil {
		schemas := make(map[string]json.RawMessage, len(all.Tools))
		for _, t := range all.Tools {
			schemas[t.Name] = jsonscan.Member(t.Raw, "inputSchema")
		}
		s.http.LearnTools(schemas)
	}
	if c := all.Info.Capabilities; c != nil && c.Prompts != nil {
		if all.Prompts, _, err = u.list(ctx, s, "prompts", checkPrompt); err != nil {
			u.logger.Warn("the server's prompts could not be read; the last ones stay", "error", err)
			all.Prompts = u.Prompts()
		}
	}
	return all, nil
}
