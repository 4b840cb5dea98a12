package middleware

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/rpc"
)

// A wire is the way to a client that notes what it is sent.
type wire chan rpc.Message

func (w wire) Send(_ context.Context, m rpc.Message) error { w <- m.Clone(); return nil }
func (w wire) Try(ctx context.Context, m rpc.Message)      { _ = w.Send(ctx, m) }

// TestPast: a session that another replica has begun goes on as the same agent, with what its
// client has said and set there. What it is subscribed to starts no process, and is subscribed
// to when one starts. When it is left its processes end, and its results stay.
func TestPast(t *testing.T) {
	s, made := isolated(t)
	to := make(wire, 100)
	who, past := Identity{Session: "ABC"}, Past{Handshake: json.RawMessage(`{"capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}`), Level: "error"}
	c := s.Resume(to, who, rpc.Options{IDs: "x-1-"}, past)
	if got := c.Past(); !c.Initialized() || string(got.Handshake) != string(past.Handshake) || got.Level != "error" || !c.Can("sampling/createMessage") || c.Can("roots/list") {
		t.Errorf("it is resumed as %+v", got)
	}
	follow := func(method, params string) {
		t.Helper()
		if err := c.Follow(t.Context(), method, json.RawMessage(params)); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	follow("resources/subscribe", `{"uri":"a://1"}`)
	follow("resources/subscribe", `{"uri":"a://2"}`)
	follow("resources/subscribe", `{"uri":"a://2"}`)
	follow("resources/unsubscribe", `{"uri":"a://1"}`)
	follow("logging/setLevel", `{"level":"warning"}`)
	for _, bad := range [][2]string{{"tools/call", `{"name":"next"}`}, {"logging/setLevel", `{"level":"x"}`}, {"resources/subscribe", `7`}} {
		if err := c.Follow(t.Context(), bad[0], json.RawMessage(bad[1])); err == nil {
			t.Errorf("%v is followed", bad)
		}
	}
	if got := c.Subscriptions(); !slices.Equal(got, []string{"a://2"}) || c.Level() != "warning" || len(made) != 0 {
		t.Errorf("subscribed to %v at level %s, with %d processes", got, c.Level(), len(made))
	}
	call := func() *mind {
		t.Helper()
		if err := c.Receive(t.Context(), rpc.Message{ID: json.RawMessage("1"), Method: "tools/call", Params: json.RawMessage(`{"name":"next","arguments":{}}`)}); err != nil {
			t.Fatal(err)
		}
		m := <-made
		if answer := <-to; answer.Result == nil {
			t.Fatalf("answered %s", answer.Bytes())
		}
		return m
	}
	m := call()
	m.agent.Connected()
	subscribed := func() bool { return slices.Contains(m.requests(), `resources/subscribe {"uri":"a://2"}`) }
	for until := time.Now().Add(10 * time.Second); !subscribed() && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	if !subscribed() {
		t.Errorf("asked %q", m.requests())
	}
	m.agent.Tell(t.Context(), "notifications/resources/updated", json.RawMessage(`{"uri":"a://2"}`))
	if got := <-to; got.Method != "notifications/resources/updated" || !strings.Contains(string(got.Params), "a://2") {
		t.Errorf("told %s", got.Bytes())
	}
	go func() { _, _ = c.Ask(context.Background(), "sampling/createMessage", json.RawMessage("{}"), nil) }()
	if asked := <-to; string(asked.ID) != `"rlm-x-1-1"` {
		t.Errorf("a question has the id %s", asked.ID)
	}

	id, err := s.opts.Store.Put(c.Agent, cache.Origin{Tool: "t"}, []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	c.Leave()
	<-m.closed
	if _, err := s.opts.Store.Get(c.Agent, id); err != nil || !c.Left() {
		t.Errorf("after it was left, its result: %v", err)
	}
	again := s.Resume(to, who, rpc.Options{}, past)
	if again.Agent != c.Agent {
		t.Errorf("%s is another agent than %s", again.Agent, c.Agent)
	}
	again.End()
	if _, err := s.opts.Store.Get(c.Agent, id); err == nil || again.Left() {
		t.Error("after its end its result is kept")
	}
}
