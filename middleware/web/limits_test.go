package web

import (
	"encoding/json"
	"testing"

	"rlmproxy/middleware/rpc"
)

// newTestSession is a session whose streams a test reads itself.
func newTestSession() *session {
	s := &session{}
	s.streams = newStreams(s, nil)
	return s
}

func note(params []byte) rpc.Message {
	return rpc.Message{Method: "notifications/message", Params: params}
}

// TestLongNotifications: what waits on a stream that nobody reads is bounded in
// bytes, and one long message is not lost for being long. Their number alone was
// bounded, so a session could hold 256 messages of any length.
func TestLongNotifications(t *testing.T) {
	s := newTestSession().streams
	params, _ := json.Marshal(map[string]string{"data": string(make([]byte, 1<<20))})
	for range maxQueued {
		s.Try(t.Context(), note(params))
	}
	held := 0
	for _, e := range s.listening.events {
		held += size(e)
	}
	if held < len(params) || held > maxQueuedBytes+2*len(params) {
		t.Errorf("%d bytes wait", held)
	}
	r := s.listening.attach()
	for e, _, _ := s.listening.take(r); e != nil; e, _, _ = s.listening.take(r) {
	}
	s.listening.forget(maxQueued)
	before := len(s.listening.events)
	s.Try(t.Context(), note(params))
	if before != 0 || len(s.listening.events) != 1 {
		t.Errorf("%d events, then %d: there was room", before, len(s.listening.events))
	}
}

// TestAskedAtOnce: a server that asks before the response to its request has been
// begun reaches the client. On a busy machine it was told that there is no stream.
func TestAskedAtOnce(t *testing.T) {
	session := newTestSession()
	s := newStream(1, nil)
	s.session = session
	ask := rpc.Message{ID: json.RawMessage("1"), Method: "ping"}
	ctx := withStream(t.Context(), s)
	if err := session.streams.Send(ctx, ask); err != nil {
		t.Error("before it is read:", err)
	}
	r := s.attach()
	if err := session.streams.Send(ctx, ask); err != nil {
		t.Error("while it is read:", err)
	}
	s.push(rpc.Message{ID: json.RawMessage("1"), Result: json.RawMessage("{}")})
	for e, _, _ := s.take(r); e != nil; e, _, _ = s.take(r) {
	}
	s.detach(r, 0)
	if err := session.streams.Send(ctx, ask); err == nil {
		t.Error("nobody reads")
	}
}
