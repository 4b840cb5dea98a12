package web

import (
	"encoding/json"
	"strings"
	"testing"

	"rlmproxy/middleware/guard"
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

// TestUnreadAnswers: what a client leaves unread counts for its agent until it has read
// it, or cannot any more; of long answers there are no more than twice what it may have.
func TestUnreadAnswers(t *testing.T) {
	const most = 1 << 20
	all := guard.NewAccounts(most, 10*most)
	s := newStream(8, all.Of("a"))
	answer := func(n int) rpc.Message {
		return rpc.Message{ID: json.RawMessage("1"), Result: json.RawMessage(`"` + strings.Repeat("x", n) + `"`)}
	}
	for range 5 {
		s.push(answer(600 << 10))
	}
	if n := all.Held(); n < 2*most || n > 3*most {
		t.Errorf("%d bytes of answers wait", n)
	}
	if got := string(s.events[4].Error); !strings.Contains(got, "too_busy") {
		t.Errorf("the fifth answer: %s", got)
	}
	s.push(answer(1 << 10))
	if s.events[5].Error != nil {
		t.Error("a short answer is lost")
	}
	if err := all.Of("a").Take(1); err == nil {
		t.Error("there is room for requests")
	}
	r := s.attach()
	before := all.Held()
	_, n, _ := s.take(r)
	if all.Held() != before {
		t.Error("an answer that is being written is not counted")
	}
	s.read(n)
	s.read(n)
	if got := before - all.Held(); got < 600<<10 || got > 601<<10 {
		t.Errorf("%d bytes less after the first has been read", got)
	}
	s.forget(2)
	s.settle()
	s.push(answer(1 << 10))
	if n := all.Held(); n != 0 {
		t.Errorf("%d bytes are counted in the end", n)
	}
}

// TestUnreadNotifications: what a server tells and asks an agent that reads nothing, in many
// sessions, is bounded as its answers are. One long notification for each session was not.
func TestUnreadNotifications(t *testing.T) {
	const most = 4 << 20
	all := guard.NewAccounts(most, 10*most)
	params, _ := json.Marshal(map[string]string{"data": strings.Repeat("x", 1<<20)})
	refused := 0
	for range 20 {
		s := newStreams(&session{}, all.Of("a"))
		s.Try(t.Context(), note(params))
		s.listening.attach()
		if err := s.Send(t.Context(), rpc.Message{ID: json.RawMessage("1"), Method: "sampling/createMessage", Params: params}); err != nil {
			refused++
		}
	}
	if n := all.Held(); n < 2*most || n > 3*most || refused < 10 {
		t.Errorf("%d bytes wait, %d requests are refused", n, refused)
	}
}
