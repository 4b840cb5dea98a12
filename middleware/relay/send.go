package relay

import (
	"context"
	"encoding/json"
	"time"

	"rlmproxy/middleware/deferred"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/upstream"
)

// A Sending is a request of a client on its way to a server.
type Sending struct {
	Request *session.Request
	// Params are those that the server gets.
	Params json.RawMessage
	// Timeout bounds the request; progress gives it all its time anew. Zero means
	// Options.CallTimeout.
	Timeout time.Duration
	// Unknown says that nobody knows what the request is about: it passes only where one
	// party alone uses the connection.
	Unknown bool
	// Hide, if not nil, takes out of the result and its progress what is never shown.
	Hide Hider
}

// Send sends a request of a client to the server, and its progress back. It returns the
// raw result, an object.
func (v *Server) Send(ctx context.Context, m Sending) (json.RawMessage, error) {
	if m.Timeout == 0 {
		m.Timeout = v.relay.opts.CallTimeout
	}
	raw, err := v.send(ctx, m)
	if err != nil && m.Hide != nil {
		err = m.Hide.Error(ctx, err)
	}
	return raw, frame.Error(err, v.name)
}

func (v *Server) send(ctx context.Context, m Sending) (json.RawMessage, error) {
	if !m.Request.Stateless {
		return v.run(ctx, m, nil)
	}
	return v.relay.deferred.Run(ctx, m.Request, v.name, m.Params, func(ctx context.Context, d *deferred.Request) (json.RawMessage, error) {
		return v.run(ctx, m, d)
	})
}

// run sends a request and waits for its result. Progress goes to the client's request
// that waits now: d, if not nil, is the deferred one.
func (v *Server) run(ctx context.Context, m Sending, d *deferred.Request) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := newCallTimer(m.Timeout, cancel)
	defer timer.stop()
	client := m.Request.Session
	c, release, err := v.take(ctx, client)
	if err != nil {
		return nil, err
	}
	defer release()
	var going deferredRequest
	if d != nil {
		going = d
	}
	ctx, done, err := c.begin(ctx, client, timer, going)
	if err != nil {
		return nil, err
	}
	defer done()
	if m.Params, err = c.admit(ctx, m); err != nil {
		return nil, err
	}
	r := upstream.Request{Method: m.Request.Method, Params: m.Params, Stateless: m.Request.Stateless}
	if m.Request.Token != nil { // a server that is not asked does not report
		r.Progress = c.progress(ctx, m, d, timer)
	}
	var raw json.RawMessage
	if r.Stateless {
		c.raiseLevel(ctx, m.Request)
		raw, err = c.Call(ctx, r)
	} else {
		r.Can, r.Level = client.Capabilities(), client.Level()
		raw, err = c.callWithInput(ctx, r)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = guard.HoldOf(ctx).Work(ctx, int64(len(raw)))
	}
	if err != nil {
		c.handOutInError(client.Party, err)
		return nil, err
	}
	if raw, err = c.handOut(ctx, m.Request, raw); err != nil {
		return nil, err
	}
	// Whoever takes the result of a deferred request, what its own policy hides stays
	// hidden.
	return hidden(ctx, m.Hide, frame.Strip(raw))
}

// progress hands the server's reports on a request to the client.
func (c *Connection) progress(ctx context.Context, m Sending, d *deferred.Request, timer *callTimer) func(json.RawMessage) {
	return func(params json.RawMessage) {
		defer c.survive(nil)
		timer.again()
		now := m.Request
		if d != nil {
			now = d.Current()
		}
		if kept, err := hidden(ctx, m.Hide, frame.Strip(params)); err == nil {
			now.Progress(kept)
		}
	}
}
