package middleware

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"
)

const (
	heldTime    = 10 * time.Minute // that a client may take to answer
	maxHeld     = 1000             // then the one that waits longest ends
	maxHeldEach = 20               // of one agent, likewise
	// maxHeldBytes bounds the results of requests that have ended while parked,
	// likewise; one that is larger by itself is kept alone. No budget counts them.
	maxHeldBytes = 64 << 20
)

// A parking has the held requests whose clients look for answers.
type parking struct {
	// mark begins our states. Those of servers, which may be proxies like this one,
	// pass through.
	mark string

	mu     sync.Mutex       // guards the fields below
	held   map[string]*held // by the state that their clients have
	bytes  int64            // of results that held has
	serial int
}

func newParking() *parking {
	return &parking{mark: "rlmproxy:" + rand.Text()[:8] + ":", held: map[string]*held{}}
}

// gave reports whether a state is one that add has returned, if no client made it up.
func (p *parking) gave(state string) bool { return strings.HasPrefix(state, p.mark) }

// add parks h and returns its state.
func (p *parking) add(h *held) string {
	state := p.mark + rand.Text()
	p.mu.Lock()
	p.makeRoom(h.agent)
	p.serial++
	h.number = p.serial
	p.held[state], h.parked = h, true
	h.expiry = time.AfterFunc(heldTime, func() {
		if h := p.claim(state, func(*held) bool { return true }); h != nil {
			h.cancel(errTimeout)
		}
	})
	p.mu.Unlock()
	p.keep(h) // it may have ended by now
	return state
}

// find returns the request of a state, nil if there is none.
func (p *parking) find(state string) *held {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[state]
}

// claim takes out the request of a state, nil if there is none that is meant.
func (p *parking) claim(state string, meant func(*held) bool) *held {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.held[state]; h == nil || !meant(h) {
		return nil
	}
	return p.take(state)
}

// makeRoom ends the held request that waits longest, of this agent or of all,
// where there are too many: whoever leaves questions unanswered, or comes under
// many names, keeps nobody from being asked. p.mu must be held.
func (p *parking) makeRoom(agent string) {
	each := 0
	var oldest, own string // states
	for state, h := range p.held {
		if oldest == "" || h.number < p.held[oldest].number {
			oldest = state
		}
		if h.agent != agent {
			continue
		}
		if each++; own == "" || h.number < p.held[own].number {
			own = state
		}
	}
	if each >= maxHeldEach {
		p.drop(own)
	} else if len(p.held) >= maxHeld {
		p.drop(oldest)
	}
}

// keep counts the result of a parked request that has ended, and ends those that
// have waited longest with results while they are too large together.
func (p *parking) keep(h *held) {
	select {
	case <-h.done:
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !h.parked || h.kept > 0 {
		return
	}
	h.kept = int64(len(h.raw))
	p.bytes += h.kept
	for p.bytes > max(maxHeldBytes, h.kept) {
		oldest := ""
		for state, o := range p.held {
			if o != h && o.kept > 0 && (oldest == "" || o.number < p.held[oldest].number) {
				oldest = state
			}
		}
		p.drop(oldest)
	}
}

// take takes a request out of those that are parked, nil if it is not there. p.mu
// must be held.
func (p *parking) take(state string) *held {
	h := p.held[state]
	if h == nil {
		return nil
	}
	h.expiry.Stop()
	delete(p.held, state)
	p.bytes -= h.kept
	h.parked, h.kept = false, 0
	return h
}

var errNotAnswered = errors.New("too many requests wait for input: this one waited longest")

// drop ends a parked request. p.mu must be held.
func (p *parking) drop(state string) {
	p.take(state).cancel(errNotAnswered)
}

// forget ends the parked requests of an agent that has gone for good, and
// returns when they have ended, or ctx has.
func (p *parking) forget(ctx context.Context, agent string) {
	var ended []*held
	p.mu.Lock()
	for state, h := range p.held {
		if h.agent == agent {
			p.drop(state)
			ended = append(ended, h)
		}
	}
	p.mu.Unlock()
	for _, h := range ended {
		select {
		case <-h.done:
		case <-ctx.Done():
		}
	}
}
