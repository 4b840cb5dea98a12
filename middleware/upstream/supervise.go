package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/transport"
)

// supervise connects, waits for the end, and connects again, until ctx ends.
func (u *Upstream) supervise(ctx context.Context) {
	defer close(u.ended)
	defer u.change(func(time.Time) { u.close(transport.ErrClosing) })
	for ctx.Err() == nil {
		s, err := u.connect(ctx)
		if err != nil && ctx.Err() == nil {
			u.down(u.failed, err)
		}
		for s != nil {
			s = u.serve(ctx, s)
		}
		u.rest(ctx)
	}
}

// down notes by event that there is no session, because of err.
func (u *Upstream) down(event func(now time.Time, err error), err error) {
	var wait time.Duration
	u.change(func(now time.Time) {
		event(now, err)
		wait, err = u.next.Sub(now), u.err
	})
	reason := strings.Map(func(r rune) rune { // without what differs each time: pids, times
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, err.Error())
	switch {
	case wait <= 0:
		u.logger.Warn("server ended, restarting", "error", err)
	case reason != u.told:
		u.logger.Error("not connected", "error", err, "next_try", wait.Round(time.Millisecond))
		u.told = reason
	default:
		u.logger.Debug("not connected", "error", err, "next_try", wait.Round(time.Millisecond))
	}
}

// rest waits until the next attempt is due, or a call brings it forward.
func (u *Upstream) rest(ctx context.Context) {
	for {
		u.mu.Lock()
		wait := time.Until(u.next)
		u.mu.Unlock()
		if wait <= 0 {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-u.wake:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// connect tries once to open a session and to read what the server offers. Where ctx
// has ended, or the time for it, the error is that.
func (u *Upstream) connect(ctx context.Context) (*session, error) {
	life := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, u.opts.ConnectTimeout, fmt.Errorf("no answer to the handshake within %v", u.opts.ConnectTimeout))
	defer cancel()
	h := hooks{opts: u.opts, life: life, logger: u.logger, junk: &u.junk, listChanged: u.markStale}
	if h.capabilities = u.opts.Capabilities(ctx); len(h.capabilities) == 0 {
		h.capabilities = json.RawMessage("{}")
	}
	h.client = u.opts.ClientInfo()
	stateless := u.opts.Stateless()
	u.mu.Lock()
	h.stateless = !u.lacksStateless && (u.speaksStateless || stateless)
	u.mu.Unlock()
	s, err := u.opts.Dial(ctx, h)
	if err == nil {
		var all Offers
		if all, err = u.readOffers(ctx, s); err == nil {
			u.mu.Lock()
			u.offers, u.seen = all, true
			u.speaksStateless = s.meta != nil
			u.lacksStateless = u.lacksStateless || h.stateless && !u.speaksStateless
			u.mu.Unlock()
			return s, nil
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if how := s.Exit(); how != "" && errors.Is(err, rpc.ErrClosed) {
			err = fmt.Errorf("the server ended before it had listed what it offers (%s)", how)
		}
		s.Close()
		return nil, s.withStderr(err, time.Time{})
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = cause
	}
	return nil, err
}

// serve lets requests use s until it ends, or falls silent, or ctx ends; or until another
// takes its place, which it returns.
func (u *Upstream) serve(ctx context.Context, s *session) (next *session) {
	a := newActive(ctx, s)
	defer a.close()
	looping := false
	u.change(func(time.Time) { u.active, looping = a, u.connected() })
	u.log(looping, "connected", "tools", len(u.Tools()), "protocol", s.info.ProtocolVersion)
	u.opts.Changed()
	a.background.Go(func() { u.keepOffers(a) })
	a.background.Go(func() { s.watch(a.ctx) })
	steady := time.NewTimer(steadyTime)
	defer steady.Stop()
	for {
		select {
		case next := <-a.replacement:
			return next
		case <-ctx.Done():
			u.change(func(time.Time) { u.close(transport.ErrClosing) })
			return nil
		case <-steady.C:
			u.change(func(time.Time) { u.steady() })
			if u.told != "" {
				u.log(false, "connected again")
			}
		case <-s.pulse.stopped:
			u.down(u.lost, errSilent)
			return nil
		case <-s.Done():
			u.down(u.lost, s.why(errors.New("it closed the connection")))
			return nil
		}
	}
}

// log tells of a recovery, of one in a loop of crashes quietly: it is none yet.
func (u *Upstream) log(looping bool, text string, attrs ...any) {
	if looping {
		u.logger.Debug(text, attrs...)
		return
	}
	u.logger.Info(text, attrs...)
	u.told = ""
}
