package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"rlmproxy/fleet"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/session"
)

// toolLimits bound the calls of tools whose policies say so.
type toolLimits struct {
	fleet *fleet.Store // that counts the rates; nil: this replica does

	mu    sync.Mutex               // guards the fields below
	rates map[limited]*guard.Calls // made with the first call
	turns map[limited]*guard.Turns
}

// limited is what sets a limit: a glob of a server, "" for the server itself. One that is
// changed is another.
type limited struct {
	server, glob string
	most         int
}

// admit waits for a turn, for at most so long, and counts a call until it is done. The
// error says which limit it is over.
func (l *toolLimits) admit(ctx context.Context, server string, p Policy, party string, wait time.Duration) (done func(), err error) {
	begun := func() {}
	if p.RateLimit > 0 {
		rate := l.rate(limited{server, p.rated, p.RateLimit})
		if begun, err = rate.Begin(party); err != nil {
			return nil, err
		}
	}
	if p.Concurrency == 0 {
		return begun, nil
	}
	late := &guard.BusyError{Text: fmt.Sprintf("%d calls of this tool are running, the most allowed, and none ended within %v", p.Concurrency, wait)}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, late)
	defer cancel()
	turn, err := l.turn(limited{server, p.turning, p.Concurrency}).Take(ctx, party)
	if err != nil {
		begun()
		if errors.Is(context.Cause(ctx), late) {
			return nil, late
		}
		return nil, err
	}
	return func() { turn.End(); begun() }, nil
}

func (l *toolLimits) rate(of limited) *guard.Calls {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rates[of] == nil {
		if l.rates == nil {
			l.rates = map[limited]*guard.Calls{}
		}
		l.rates[of] = guard.NewCalls("calls of this tool", 0, of.most)
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", of.server, of.glob, of.most))
		l.rates[of].Share(l.fleet, "tool "+hex.EncodeToString(sum[:8]), session.Local)
	}
	return l.rates[of]
}

func (l *toolLimits) turn(of limited) *guard.Turns {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns[of] == nil {
		if l.turns == nil {
			l.turns = map[limited]*guard.Turns{}
		}
		l.turns[of] = guard.NewTurns(of.most)
	}
	return l.turns[of]
}
