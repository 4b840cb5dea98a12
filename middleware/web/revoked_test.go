package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/upstream"
)

const (
	oldToken, newToken, bobsToken = "old-token-of-alice-0123", "new-token-of-alice-0123", "the-token-of-bob-012345"
)

// TestRevoked: what a token began ends when it is taken out, in the middle: calls, streams,
// sessions. A session for which another good token was shown lives on, and so does all of
// other agents. An agent may have several tokens; both were refused before.
func TestRevoked(t *testing.T) {
	began, cancelled := make(chan bool, 10), make(chan bool, 10)
	f := withT(func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		if r.Method == "tools/call" {
			began <- true
			<-ctx.Done()
			cancelled <- true
		}
		return json.RawMessage("{}"), ctx.Err()
	})
	tokens := []auth.Token{{Agent: "alice", Secret: oldToken}, {Agent: "alice", Secret: newToken}, {Agent: "bob", Secret: bobsToken}}
	s := serve(t, f, Options{}, auth.Options{Tokens: tokens})
	by := func(token string, header ...string) []string {
		return append([]string{"Authorization", "Bearer " + token}, header...)
	}
	in := func(session, token string) []string { return by(token, "Mcp-Session-Id", session) }
	const ping = `{"jsonrpc":"2.0","id":9,"method":"ping"}`

	first, both, bobs := s.session(by(oldToken)...), s.session(by(oldToken)...), s.session(by(bobsToken)...)
	if resp := s.do("POST", ping, in(both, newToken)...); resp.StatusCode != 200 {
		t.Fatalf("another token of the same agent: %s", resp.Status)
	}

	calls := make(chan int, 10)
	start := func(body string, header []string) {
		go func() { calls <- s.do("POST", body, header...).StatusCode }()
		<-began
	}
	start(callT(1, "{}"), in(first, oldToken))
	start(callT(1, "{}"), in(both, oldToken))
	start(alone(callT(1, "{}"), ""), by(oldToken, aloneHeader...))
	stays := s.do("GET", "", in(bobs, bobsToken)...)
	var streams []*http.Response
	streams = append(streams, s.do("GET", "", in(first, oldToken)...),
		s.do("POST", alone(`{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`, ""),
			by(oldToken, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")...))
	for _, resp := range streams {
		if resp.StatusCode != 200 {
			t.Fatalf("a stream: %s", resp.Status)
		}
	}

	change, err := s.h.opts.Guard.SetTokens(tokens[1:])
	if left := change.Subjects["token:alice"]; err != nil || change.Added != 0 || change.Revoked != 1 || len(change.Subjects) != 1 || !left {
		t.Fatalf("%+v %v", change, err)
	}
	for range 3 {
		<-cancelled
		if got := <-calls; got != 401 {
			t.Errorf("a call that ran: %d", got)
		}
	}
	for _, resp := range streams {
		if _, err := io.Copy(io.Discard, resp.Body); err != nil { // to its end
			t.Errorf("a stream: %v", err)
		}
	}
	for late := time.Now().Add(10 * time.Second); s.h.places.has(first) && time.Now().Before(late); {
		runtime.Gosched()
	}
	for _, tt := range []struct {
		what   string
		header []string
		want   int
	}{
		{"the revoked token", in(first, oldToken), 401},
		{"the revoked token, in the other session", in(both, oldToken), 401},
		{"the session that it began", in(first, newToken), 404},
		{"the session that both were shown for", in(both, newToken), 200},
		{"bob's", in(bobs, bobsToken), 200},
	} {
		if resp := s.do("POST", ping, tt.header...); resp.StatusCode != tt.want {
			t.Errorf("%s: %s, want %d", tt.what, resp.Status, tt.want)
		}
	}

	// The last token of all leaves nobody in.
	if change, err := s.h.opts.Guard.SetTokens(nil); err != nil || change.Revoked != 2 || change.Subjects["token:bob"] {
		t.Errorf("%+v %v", change, err)
	}
	if _, err := io.Copy(io.Discard, stays.Body); err != nil {
		t.Errorf("bob's stream: %v", err)
	}
	if resp := s.do("POST", begin, by(bobsToken)...); resp.StatusCode != 401 {
		t.Errorf("without tokens: %s", resp.Status)
	}
	if resp := s.do("POST", begin); resp.StatusCode != 401 {
		t.Errorf("without tokens and without one shown: %s", resp.Status)
	}
	for late := time.Now().Add(10 * time.Second); len(s.h.places.all()) > 0 && time.Now().Before(late); {
		runtime.Gosched()
	}
	if n := len(s.h.places.all()); n > 0 {
		t.Errorf("%d sessions are left", n)
	}
	s.stop()
	left := func() []byte {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if bytes.Contains(stacks, []byte("middleware/web.(*")) || bytes.Contains(stacks, []byte("http.(*conn).serve")) {
			return stacks
		}
		return nil
	}
	for late := time.Now().Add(10 * time.Second); left() != nil && time.Now().Before(late); {
		runtime.Gosched()
	}
	if stacks := left(); stacks != nil {
		t.Errorf("something still runs:\n%s", stacks)
	}
}
