package web

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
)

// TestLongNotifications: what waits on a stream that nobody reads is bounded in
// bytes, and one long message is not lost for being long. Their number alone was
// bounded, so a session could hold 256 messages of any length.
func TestLongNotifications(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l := (&Handler{log: logger, replay: newReplay(replayBytes)}).newLink("s")
	params, _ := json.Marshal(map[string]string{"data": string(make([]byte, 1<<20))})
	for range maxQueued {
		l.TryNotify(t.Context(), "notifications/message", params)
	}
	held := 0
	for _, e := range l.standalone.events {
		held += e.size()
	}
	if held < len(params) || held > maxQueuedBytes+2*len(params) {
		t.Errorf("%d bytes wait", held)
	}
	if n := bytes.Count(log.Bytes(), []byte("dropped")); n != 1 {
		t.Errorf("%d lines of the log say that some are lost", n)
	}
	r := l.standalone.attach()
	for e, _, _ := l.standalone.take(r); e != nil; e, _, _ = l.standalone.take(r) {
	}
	l.standalone.forget(maxQueued)
	before := len(l.standalone.events)
	l.TryNotify(t.Context(), "notifications/message", params)
	if before != 0 || len(l.standalone.events) != 1 {
		t.Errorf("%d events, then %d: there was room", before, len(l.standalone.events))
	}
}

// TestAskedAtOnce: a server that asks before the reply to its request has been
// begun reaches the client. On a busy machine it was told that there is no stream.
func TestAskedAtOnce(t *testing.T) {
	l := (&Handler{log: slog.New(slog.DiscardHandler), replay: newReplay(replayBytes)}).newLink("s")
	s := newStream(l)
	if err := l.admit(s); err != nil {
		t.Fatal(err)
	}
	s.open = 1
	if !s.reaches() {
		t.Error("not before it is read")
	}
	r := s.attach()
	if !s.reaches() {
		t.Error("not while it is read")
	}
	s.detach(r, true)
	if s.reaches() || l.standalone.reaches() {
		t.Error("nobody reads")
	}
}
