package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/wire"
)

// TestManyHeldRequests: who leaves questions unanswered loses the oldest, and is
// asked the next.
func TestManyHeldRequests(t *testing.T) {
	f := server(nil, "x")
	var s *Server
	ended := make(chan error, 100)
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		raw, err := s.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{}`))
		ended <- err
		return textResult(string(raw)), err
	}
	s, _ = dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	conn := attach(t, s, Identity{Name: "ann"}, wire.Options{})
	var states []string
	for range maxHeldEach + 1 {
		got := ask(t, conn, "tools/call", `{"name":"x",`+statelessMeta("")+`}`)
		states = append(states, gjson.Get(got, "requestState").Raw)
		if states[len(states)-1] == "" {
			t.Fatalf("%d: %s", len(states), got)
		}
	}
	if err := <-ended; err == nil {
		t.Error("the oldest was answered")
	}
	for i, state := range states {
		got := ask(t, conn, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{"a":1.0}},`+statelessMeta("")+`}`)
		if want := i > 0; strings.Contains(got, `{\"a\":1.0}`) != want {
			t.Errorf("%d: %s", i, got)
		}
	}
}

// TestManyNamesHold: whoever comes under many names keeps nobody out.
func TestManyNamesHold(t *testing.T) {
	p := newParking()
	ended := make([]error, maxHeld)
	for i := range maxHeld {
		p.held[fmt.Sprint(i)] = &held{agent: fmt.Sprint(i), number: i, expiry: time.NewTimer(time.Hour),
			cancel: func(err error) { ended[i] = err }}
	}
	p.makeRoom("another")
	p.makeRoom("another")
	for i, err := range ended {
		if (err != nil) != (i == 0) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestHeldRequestsEndWithTheirAgent: nobody can come back to them.
func TestHeldRequestsEndWithTheirAgent(t *testing.T) {
	f := server(nil, "x")
	var s *Server
	ended := make(chan error, 1)
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		_, err := s.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{}`))
		ended <- err
		return nil, err
	}
	s, _ = dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	t.Run("connection", func(t *testing.T) {
		conn := attach(t, s, Identity{}, wire.Options{})
		if got := ask(t, conn, "tools/call", `{"name":"x",`+statelessMeta("")+`}`); !strings.Contains(got, "input_required") {
			t.Fatal(got)
		}
	})
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the question was answered")
		}
	case <-time.After(5 * time.Second):
		t.Error("the request goes on")
	}
}

// TestQuestionsEnd: a call ends after maxCallTime, whether its server is still
// asking or has just been answered.
func TestQuestionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, answered := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(t.Context())
			timer := newCallTimer(time.Minute, cancel)
			resume := timer.pause()
			time.Sleep(maxCallTime - 30*time.Second)
			if answered {
				resume()
			}
			if ctx.Err() != nil {
				t.Fatal("ended too early")
			}
			time.Sleep(31 * time.Second)
			if !errors.Is(context.Cause(ctx), errTimeout) {
				t.Errorf("answered %v: it goes on", answered)
			}
			timer.stop()
			cancel(nil)
		}
	})
}

// TestStatesOfAnotherProxy: a server may be a proxy like this one, whose states
// look like ours.
func TestStatesOfAnotherProxy(t *testing.T) {
	far := server(nil, "x")
	var behind *Server
	far.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		raw, err := behind.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{}`))
		return textResult(string(raw)), err
	}
	behind, _ = dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: far}}})
	link := attach(t, behind, Identity{Name: "proxy"}, wire.Options{})
	near := server(nil, "x")
	near.raw = func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		return link.Call(ctx, r.Method, r.Params)
	}
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "p", Conn: near}}})
	conn := attach(t, s, Identity{Name: "ann"}, wire.Options{})
	got := ask(t, conn, "tools/call", `{"name":"x",`+statelessMeta("")+`}`)
	state := gjson.Get(got, "requestState").Raw
	if state == "" {
		t.Fatal(got)
	}
	got = ask(t, conn, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{"a":1.0}},`+statelessMeta("")+`}`)
	if !strings.Contains(got, `{\"a\":1.0}`) {
		t.Errorf("after %s: %s", state, got)
	}
}

// TestHeldResultsAreBounded: of results whose clients do not come back for them,
// only so much is kept as fits.
func TestHeldResultsAreBounded(t *testing.T) {
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: server(nil)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := &request{client: &client{agent: "ann"}, method: "tools/call"}
	leave := make(chan bool)
	result := make(json.RawMessage, 20<<20)
	park := func(size int) *held {
		h := s.hold(t.Context(), &s.opts.Upstreams[0], r, nil, func(ctx context.Context, h *held) (json.RawMessage, error) {
			<-leave
			return result[:size], nil
		})
		s.park(h)
		return h
	}
	parked := func() (n int) {
		s.parking.mu.Lock()
		defer s.parking.mu.Unlock()
		bytes := int64(0)
		for _, h := range s.parking.held {
			bytes += h.kept
		}
		if bytes != s.parking.bytes || bytes > maxHeldBytes {
			t.Errorf("%d bytes are kept, %d counted", bytes, s.parking.bytes)
		}
		return len(s.parking.held)
	}
	all := []*held{park(0)}
	for range 5 {
		all = append(all, park(20<<20))
	}
	for range 6 { // all end, in whichever order
		leave <- true
	}
	for _, h := range all {
		<-h.done
		s.parking.keep(h)
	}
	if n := parked(); n != 4 {
		t.Errorf("%d are parked, want the one without a result and three", n)
	}
	s.parking.mu.Lock()
	for state := range s.parking.held {
		s.parking.drop(state)
	}
	s.parking.mu.Unlock()
	if parked() != 0 || s.parking.bytes != 0 {
		t.Errorf("%d bytes are left", s.parking.bytes)
	}
}
