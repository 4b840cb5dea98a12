package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/transport"
)

// maxBackoff is the longest pause between attempts to connect.
const maxBackoff = time.Minute

// supervise connects, waits for the end, and connects again, until ctx ends.
func (u *Upstream) supervise(ctx context.Context) {
	defer close(u.ended)
	defer u.set(Closed, nil, transport.ErrClosing)
	backoff := u.opts.MinBackoff
	soon := rate.NewLimiter(rate.Every(time.Minute/maxRestarts), maxRestarts)
	for ctx.Err() == nil {
		s, err := u.connect(ctx)
		if err == nil {
			begun := time.Now()
			for s != nil {
				s, err = u.serve(ctx, s)
			}
			if time.Since(begun) > maxBackoff {
				backoff = u.opts.MinBackoff
			}
			if ctx.Err() != nil {
				return
			}
			u.logger.Warn("server ended, restarting", "error", err)
			if time.Since(begun) > u.opts.MinBackoff || soon.Allow() {
				continue // it had worked: calls wait for the restart
			}
		}
		if ctx.Err() != nil {
			return
		}
		u.logger.Error("not connected", "error", err, "next_try", backoff)
		u.set(Failed, nil, err)
		if transport.Sleep(ctx, backoff) != nil {
			return
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// maxRestarts is how many sessions in a minute may end soon after they began, by a
// crash or since the server forgot them, and be replaced at once. A server behind a
// balancer that knows no sessions forgets each.
const maxRestarts = 5

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
		if errors.Is(err, rpc.ErrClosed) {
			if how := s.Exit(); how != "" {
				err = fmt.Errorf("the server ended before it had said what it offers (%s)", how)
			}
		}
		s.Close()
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, err
}

// serve lets requests use s until it ends or ctx does, and says why it ended; or until
// another takes its place, which it returns.
func (u *Upstream) serve(ctx context.Context, s *session) (next *session, err error) {
	a := newActive(ctx, s)
	defer a.close()
	u.set(Ready, a, nil)
	u.logger.Info("connected", "tools", len(u.Tools()), "protocol", s.info.ProtocolVersion)
	u.opts.Changed()
	a.background.Go(func() { u.keepOffers(a) })
	select {
	case next := <-a.replacement:
		return next, nil
	case <-ctx.Done():
		u.set(Closed, nil, transport.ErrClosing)
		return nil, ctx.Err()
	case <-s.Done():
	}
	err = errors.New("it closed the connection")
	if how := s.Exit(); how != "" {
		err = errors.New(how)
	}
	u.set(Connecting, nil, err)
	return nil, err
}
