package relay

import (
	"context"
	"encoding/json"

	"rlmproxy/middleware/deferred"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/session"
)

// An Asking is a request that the proxy answers itself, while it may ask the client.
type Asking struct {
	request  *session.Request
	deferred *deferred.Request // of a client of 2026-07-28, else nil
}

type askingKey struct{}

// Ask answers a request by do, which may ask the client meanwhile. A client of 2026-07-28 gets
// what it is asked as a result; do runs on until the client comes back with the answers. Within
// another do it is a part of that: the client comes back to the request that it has made.
func (r *Relay) Ask(ctx context.Context, q *session.Request, do func(ctx context.Context, a *Asking) (json.RawMessage, error)) (json.RawMessage, error) {
	if a, within := ctx.Value(askingKey{}).(*Asking); within {
		return do(ctx, a)
	}
	if !q.Stateless {
		return do(ctx, &Asking{request: q})
	}
	return r.deferred.Run(ctx, q, "", q.Params, func(ctx context.Context, d *deferred.Request) (json.RawMessage, error) {
		a := &Asking{q, d}
		return do(context.WithValue(ctx, askingKey{}, a), a)
	})
}

// Current is the client's request that waits for the answer now, or waited last.
func (a *Asking) Current() *session.Request {
	if a.deferred == nil {
		return a.request
	}
	return a.deferred.Current()
}

// Returned is how often a client of 2026-07-28 has come back with answers. Others never do.
func (a *Asking) Returned() int {
	if a.deferred == nil {
		return 0
	}
	return a.deferred.Returned()
}

// Can reports whether the client answers requests of this method.
func (a *Asking) Can(method string) bool {
	if a.deferred == nil {
		return a.request.Session.Can(method)
	}
	return session.Declares(a.Current().Capabilities, method)
}

// Client asks the client, and waits for its answer.
func (a *Asking) Client(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if a.deferred != nil {
		return a.deferred.Ask(ctx, method, params)
	}
	asking, cancel := context.WithCancel(guard.WithHold(a.request.About(), nil))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	answer, err := a.request.Session.Ask(asking, method, params, nil)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return answer, err
}

// Answered makes a request until its result asks for nothing: what it asks, the client is asked,
// and the request is made again with the answers.
func (a *Asking) Answered(ctx context.Context, make func(q *session.Request) (json.RawMessage, error)) (json.RawMessage, error) {
	q := a.Current()
	for range maxRounds {
		raw, err := make(q)
		if err != nil || !WantsInput(raw) {
			return raw, err
		}
		inputs, state := readInputs(raw)
		answers, err := answersOf(inputs, func(one input) (json.RawMessage, error) { return a.Client(ctx, one.method, one.params) })
		if err != nil {
			return nil, err
		}
		again := *a.Current()
		if again.Params, err = withAnswers(q.Params, answers, state); err != nil {
			return nil, err
		}
		q = &again
	}
	return nil, refused("this was asked about too often")
}
