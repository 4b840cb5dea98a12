package web

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/upstream"
)

// TestFairShare: whoever holds all places with sessions that do nothing makes room
// for another's token, until both have as many, and takes none of theirs. The
// others had 503 for as long as a stream was open on each.
func TestFairShare(t *testing.T) {
	const a, b, c = "0123456789abcdef-alice", "0123456789abcdef-bob", "0123456789abcdef-carol"
	called, goOn := make(chan bool), make(chan bool)
	s := serve(t, withT(func(context.Context, upstream.Request) (json.RawMessage, error) {
		called <- true
		<-goOn
		return text("ok"), nil
	}), Options{MaxSessions: 6}, auth.Options{Tokens: []auth.Token{{Agent: "alice", Secret: a}, {Agent: "bob", Secret: b}, {Agent: "carol", Secret: c}}})
	alice, bob, carol := []string{"Authorization", "Bearer " + a}, []string{"Authorization", "Bearer " + b}, []string{"Authorization", "Bearer " + c}
	count := func() map[string]int {
		s.h.places.mu.Lock()
		defer s.h.places.mu.Unlock()
		n := map[string]int{}
		for _, x := range s.h.places.sessions {
			n[x.subject]++
		}
		return n
	}
	begins := func(who []string, status int, why string) string {
		t.Helper()
		resp := s.do("POST", begin, who...)
		_, _ = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != status {
			t.Fatalf("%s: %s, %v", why, resp.Status, count())
		}
		return resp.Header.Get("Mcp-Session-Id")
	}
	var all []string
	for range 6 {
		id := begins(alice, 200, "there is room")
		s.do("GET", "", append(alice, "Mcp-Session-Id", id)...) // stays open
		all = append(all, id)
	}
	works := make(chan bool)
	go func() {
		body(t, s.do("POST", callT(1, "{}"), append(alice, "Mcp-Session-Id", all[0])...))
		close(works)
	}()
	<-called

	begins(alice, 503, "alice has all")
	for range 3 {
		begins(bob, 200, "bob has fewer")
	}
	begins(bob, 503, "bob has as many")
	begins(carol, 200, "carol has none")
	begins(carol, 200, "carol has one")
	if n := count(); len(n) != 3 || n["token:alice"] != 2 || n["token:bob"] != 2 {
		t.Errorf("sessions: %v", n)
	}
	begins(carol, 503, "carol has as many")
	s.h.places.mu.Lock()
	for _, x := range s.h.places.sessions {
		if x.subject == "token:bob" {
			x.since = time.Now().Add(-2 * restTime)
		}
	}
	s.h.places.mu.Unlock()
	begins(alice, 503, "bob's rest, and alice would have more than he")
	close(goOn)
	<-works
	if resp := s.do("GET", "", append(alice, "Mcp-Session-Id", all[0])...); resp.StatusCode != 200 {
		t.Errorf("the session with a call: %s", resp.Status)
	}
}
