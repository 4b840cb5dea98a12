package web

import (
	"encoding/json"
	"testing"
)

// TestLongNotifications: what waits on a stream that nobody reads is bounded in
// bytes, and one long message is not lost for being long. Their number alone was
// bounded, so a session could hold 256 messages of any length.
func TestLongNotifications(t *testing.T) {
	l := (&Handler{replay: newReplay(replayBytes)}).newLink("s")
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
