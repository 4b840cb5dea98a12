package middleware

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/upstream"
)

// TestManyDeferredRequests: who leaves questions unanswered loses the oldest, and is
// asked the next.
func TestManyDeferredRequests(t *testing.T) {
	f := server(nil, "x")
	var s *Server
	ended := make(chan error, 100)
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		raw, err := s.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{}`))
		ended <- err
		return textResult(string(raw)), err
	}
	s, _ = dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	conn := attach(t, s, Identity{Name: "ann"}, clientOptions{})
	var states []string
	for range 20 + 1 {
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

// TestDeferredRequestsEndWithTheirAgent: nobody can come back to them.
func TestDeferredRequestsEndWithTheirAgent(t *testing.T) {
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
		conn := attach(t, s, Identity{}, clientOptions{})
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
	link := attach(t, behind, Identity{Name: "proxy"}, clientOptions{})
	near := server(nil, "x")
	near.raw = func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		return link.Call(ctx, r.Method, r.Params)
	}
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "p", Conn: near}}})
	conn := attach(t, s, Identity{Name: "ann"}, clientOptions{})
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

// TestUnansweredQuestions: an agent that leaves as many questions unanswered as a server
// works on calls of one agent can still call it. Its calls waited for a turn until they
// ran out of time, for ten minutes.
func TestUnansweredQuestions(t *testing.T) {
	f := server(nil, "asks", "quick")
	var s *Server
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		if c.Name == "quick" {
			return textResult("done"), nil
		}
		raw, err := s.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{}`))
		return textResult(string(raw)), err
	}
	s, _ = dial(t, Options{CallTimeout: 2 * time.Second, Upstreams: []Upstream{{Name: "s", Conn: f}}})
	ann, bob := attach(t, s, Identity{Name: "ann"}, clientOptions{}), attach(t, s, Identity{Name: "bob"}, clientOptions{})
	call := func(conn client, tool string) string {
		return ask(t, conn, "tools/call", `{"name":"`+tool+`",`+statelessMeta("")+`}`)
	}
	for _, conn := range []client{ann, bob} {
		if got := call(conn, "quick"); !strings.Contains(got, "done") {
			t.Error(got)
		}
	}
	for range 10 {
		if got := call(ann, "asks"); !strings.Contains(got, "input_required") {
			t.Error(got)
		}
	}
	if got := call(ann, "quick"); !strings.Contains(got, "done") {
		t.Error(got)
	}
}
