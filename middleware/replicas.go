package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/forward"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/session"
)

// Some requests can be answered by one replica alone: those that go on with what a server does
// there. They come to any, which hands them on. docs/operations.md has what replicas share.

// joinFleet has this replica hand requests on, and take those of others.
func (s *Server) joinFleet() {
	if s.opts.Fleet == nil {
		return
	}
	s.replicas = forward.New(forward.Options{Fleet: s.opts.Fleet, Attach: s.attachGuest, MaxSent: s.opts.Limits.Calls, Logger: s.logger})
	s.opts.Fleet.Handle(kindFound, s.foundElsewhere)
}

// HandedOn is how many requests this replica works on that came to others.
func (s *Server) HandedOn() int {
	if s.replicas == nil {
		return 0
	}
	return s.replicas.Working()
}

// LeaveFleet lets requests that came to other replicas end for so long. Then they are told that
// this one is gone, and it takes no others. It is to be called before the servers end.
func (s *Server) LeaveFleet(within time.Duration) {
	if s.replicas == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	s.replicas.Finish(ctx)
	s.replicas.Close()
}

// A lostError says that a request's replica is gone, with what the request goes on with: a call, or
// a task.
type lostError struct{ what string }

func (e *lostError) Error() string {
	return "the replica of the proxy that this " + e.what + " ran on is gone, and its result is lost"
}

// elsewhere has another replica answer a request that only that one can go on with. Done is false
// if this one is to answer.
func (s *Server) elsewhere(ctx context.Context, r *session.Request) (raw json.RawMessage, done bool, err error) {
	if s.replicas == nil || r.Session.Guest() { // which was handed on once
		return nil, false, nil
	}
	replica, what, err := s.replicaOf(ctx, r)
	if err == nil {
		if replica == "" {
			return nil, false, nil
		}
		raw, err = s.handOn(ctx, replica, r)
		var said *rpc.Failure // by the other one
		switch {
		case err == nil, errors.As(err, &said), ctx.Err() != nil:
			return raw, true, err
		case errors.Is(err, forward.ErrGone) && s.takeOverTask(ctx, r):
			return nil, false, nil
		case errors.Is(err, forward.ErrGone) && r.Method == "tasks/list":
			return nil, true, relay.ErrCursor
		case errors.Is(err, forward.ErrGone):
			err = &lostError{what}
		}
	}
	// No other replica counts a call and tells of it that none has answered.
	raw, err = s.here(ctx, r, func(ctx context.Context, r *session.Request) (json.RawMessage, error) {
		if r.Method != "tools/call" {
			observe.Of(ctx).Failed(err)
			return nil, protocolError(err)
		}
		return s.failure(ctx, r.Name, s.calledElsewhere(ctx, r, err))
	})
	return raw, true, err
}

// calledElsewhere notes with an error which tool the call was of: one of ours may have called
// another.
func (s *Server) calledElsewhere(ctx context.Context, r *session.Request, err error) error {
	name := r.Name
	if s.tools.Has(name) {
		name = cmp.Or(jsonscan.StringMember(r.Arguments, "tool"), jsonscan.StringMember(r.Arguments, "name"))
	}
	t, missing := s.find(ctx, s.viewOf(r), name)
	if missing != nil {
		return &calledError{err, r.Name, false}
	}
	observe.Of(ctx).Reached(t.up.Name, t.exposed)
	return t.called(err)
}

// replicaOf is the replica that alone can go on with a request, which goes on with what; "" if this
// one can.
func (s *Server) replicaOf(ctx context.Context, r *session.Request) (replica, what string, err error) {
	switch r.Method {
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/update":
		giver, ok, err := s.relay.Giver(ctx, r.Session.Party, jsonscan.StringMember(r.Params, "taskId"))
		if err != nil || !ok {
			return "", "", err
		}
		return giver.Replica, "task", nil
	case "tasks/list":
		if up := s.viewOf(r).only(); up != nil {
			return s.relay.ListedAt(up.server, r.Session.Party, r.Params), "list", nil
		}
	default:
		if r.Stateless {
			return s.relay.Deferred().Elsewhere(jsonscan.StringMember(r.Params, "requestState")), "call", nil
		}
	}
	return "", "", nil
}

// handOn has a replica answer a request.
func (s *Server) handOn(ctx context.Context, replica string, r *session.Request) (json.RawMessage, error) {
	who, ok := r.Session.Identity()
	if !ok {
		return nil, forward.ErrGone // the other one cannot know it: what it names was never this client's
	}
	who.Who = r.Who
	one := forward.Request{Client: forward.Client{Identity: who}, Method: r.Method, Params: r.Params}
	if !r.Stateless {
		one.Client.Handshake = r.Session.Handshake()
	}
	return s.replicas.Send(ctx, replica, r.Session.Party, one, forwarded{r})
}

// forwarded is the client of a request that another replica works on.
type forwarded struct{ request *session.Request }

var _ forward.Receiver = forwarded{}

// Tell implements [forward.Receiver].
func (f forwarded) Tell(method string, params json.RawMessage) {
	_ = f.request.Session.Notify(f.request.About(), method, params) // the request itself will tell of a lost client
}

// Ask implements [forward.Receiver].
func (f forwarded) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	asking, cancel := context.WithCancel(f.request.About())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return f.request.Session.Ask(asking, method, params, nil)
}

// takeOverTask has this replica answer a request about a task whose own replica is lost, if it can.
func (s *Server) takeOverTask(ctx context.Context, r *session.Request) bool {
	id := jsonscan.StringMember(r.Params, "taskId")
	giver, ok, err := s.relay.Giver(ctx, r.Session.Party, id)
	if err != nil || !ok {
		return false
	}
	up := s.upstream(giver.Server)
	return up != nil && s.relay.TakeOver(up.server, r.Session.Party, id)
}
