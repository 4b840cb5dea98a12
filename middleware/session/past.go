package session

import (
	"bytes"
	"context"
	"encoding/json"
)

// A Past is what a client of an older revision has said in its session, for a replica that
// goes on with it.
type Past struct {
	Handshake json.RawMessage // the params of initialize, an object
	Level     string          // set by logging/setLevel, or ""
}

// resume has the session stand where it stood elsewhere. The client knows the answer to its
// handshake, so it may be asked and told anything.
func (s *Session) resume(p Past) {
	s.handshake, s.shaken = bytes.Clone(p.Handshake), true
	s.level.set = p.Level
	s.gate.release()
}

// Past returns what another replica needs to go on with the session, once it is
// [Session.Initialized].
func (s *Session) Past() Past {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Past{s.handshake, s.level.set}
}

// Subscriptions are the URIs that the client has subscribed to, in no order.
func (s *Session) Subscriptions() []string { return s.opts.Subscriptions(s) }

// Follow does what the client has asked another replica for, which has answered it:
// logging/setLevel, resources/subscribe, resources/unsubscribe. It counts as nobody's
// request.
func (s *Session) Follow(ctx context.Context, method string, params json.RawMessage) error {
	<-s.begun
	r, err := newRequest(ctx, s, method, params)
	if err != nil {
		return err
	}
	r.Who = s.Who()
	return s.opts.Follow(ctx, r)
}

// Leave is [Session.End] for a client whose session goes on at another replica: what is of
// it here ends, and what it finds there again stays.
func (s *Session) Leave() { s.finish(true) }

// Left reports whether the session goes on elsewhere, once it has ended.
func (s *Session) Left() bool { return s.left }
