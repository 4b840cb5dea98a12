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
