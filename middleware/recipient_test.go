package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream"
)

// attach connects somebody who shakes no hands, as each request of 2026-07-28
// does.
func attach(t *testing.T, s *Server, who Identity, opts clientOptions) client {
	t.Helper()
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	var near *rpc.Conn
	session := s.attach(who, rpc.Options{}, func(o rpc.Options) *rpc.Peer {
		near = rpc.NewConn(r1, w2, rpc.ConnOptions{Options: o, Server: true})
		return near.Peer
	})
	conn := newClient(r2, w1, opts)
	t.Cleanup(func() {
		conn.Close()
		near.Close()
		session.End()
	})
	return conn
}

// statelessMeta is the _meta of a request of 2026-07-28, with more in front.
func statelessMeta(more string) string {
	return `"_meta":{` + more + `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
}

func hears(into chan<- string, name string) clientOptions {
	return clientOptions{Notify: func(method string, params json.RawMessage) {
		into <- name + " " + method + " " + string(params)
	}}
}

// TestDeferredRequestsAreFollowed: once a request goes on with another, progress and
// log lines go to that one, as it wants them.
func TestDeferredRequestsAreFollowed(t *testing.T) {
	f := server(nil, "x")
	var s *Server
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		s.Tell(ctx, "s", "notifications/message", json.RawMessage(`{"level":"info","data":0}`))
		if _, err := s.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{}`)); err != nil {
			return nil, err
		}
		if c.Progress == nil {
			return textResult("no progress is asked for"), nil
		}
		c.Progress(json.RawMessage(`{"progressToken":"ours","progress":1.0}`))
		s.Tell(ctx, "s", "notifications/message", json.RawMessage(`{"level":"info","data":1}`))
		s.Tell(context.Background(), "s", "notifications/message", json.RawMessage(`{"level":"info","data":2}`))
		s.Tell(context.Background(), "s", "notifications/message", json.RawMessage(`{"level":"debug","data":3}`))
		return textResult("done"), nil
	}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heard := make(chan string, 10)
	first := attach(t, s, Identity{Name: "ann"}, hears(heard, "first"))
	asked := ask(t, first, "tools/call", `{"name":"x",`+statelessMeta(`"progressToken":1,`)+`}`)
	state := gjson.Get(asked, "requestState").Raw
	if state == "" {
		t.Fatal(asked)
	}
	second := attach(t, s, Identity{Name: "ann"}, hears(heard, "second"))
	got := ask(t, second, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{"action":"accept"}},`+
		statelessMeta(`"progressToken":7.0,"io.modelcontextprotocol/logLevel":"info",`)+`}`)
	if text := gjson.Get(got, "content.0.text").String(); text != "done" {
		t.Fatalf("%s", got)
	}
	for _, want := range []string{
		`second notifications/progress {"progressToken":7.0,"progress":1.0}`,
		`second notifications/message {"level":"info","data":1}`,
		`second notifications/message {"level":"info","data":2}`,
	} {
		if got := <-heard; got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	}
	if len(heard) != 0 {
		t.Errorf("also heard %s", <-heard)
	}
}

// TestRecipients: what a shared server says without saying to whom reaches a
// client only if it can be nobody else's.
func TestRecipients(t *testing.T) {
	f := offering(nil)
	f.tools = server(nil, "x").tools
	var s *Server
	inside := make(chan func(ctx context.Context))
	f.call = func(ctx context.Context, _ toolCall) (json.RawMessage, error) {
		for do := range inside {
			if do == nil {
				break
			}
			do(ctx)
		}
		return textResult("done"), nil
	}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heard := make(chan string, 10)
	connect := func(name string) client {
		opts := hears(heard, name)
		opts.Handle = func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"who":"` + name + `"}`), nil
		}
		return clientOf(t, s, canElicit, opts)
	}
	during := func(conn client, do func(ctx context.Context)) {
		t.Helper()
		done := make(chan string)
		go func() {
			raw, err := conn.Call(context.Background(), "tools/call", json.RawMessage(`{"name":"x","arguments":{}}`))
			done <- fmt.Sprint(gjson.GetBytes(raw, "content.0.text").String(), err)
		}()
		inside <- do
		inside <- nil
		if got := <-done; got != "done<nil>" {
			t.Fatal(got)
		}
	}
	tell := func(ctx context.Context, what string, want ...string) {
		t.Helper()
		s.Tell(ctx, "s", "notifications/message", json.RawMessage(`{"level":"info","data":"`+what+`"}`))
		for _, name := range want {
			if got := <-heard; got != name+` notifications/message {"level":"info","data":"`+what+`"}` {
				t.Errorf("%s: heard %s", what, got)
			}
		}
	}
	asks := func(ctx context.Context, what, want string) {
		t.Helper()
		raw, err := s.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{}`))
		if got := gjson.GetBytes(raw, "who").String(); got != want || want == "" && err == nil {
			t.Errorf("%s: %q is asked, want %q, %v", what, got, want, err)
		}
	}
	none := context.Background()
	ann := connect("ann")
	tell(none, "before anything", "ann")
	bob := connect("bob")
	tell(none, "to one of two")
	asks(none, "one of two", "")
	during(ann, func(ctx context.Context) {
		tell(none, "while ann's runs", "ann")
		asks(none, "while ann's runs", "ann")
	})
	tell(none, "after ann's", "ann")
	asks(none, "after ann's", "ann")
	during(bob, func(ctx context.Context) {
		tell(none, "late, of ann's")
		tell(ctx, "of bob's", "bob")
		asks(none, "while bob's runs", "bob")
	})
	tell(none, "of either")
	asks(none, "either", "")
	f.info = &upstream.Info{Capabilities: f.info.Capabilities} // started again
	during(bob, func(ctx context.Context) { tell(none, "of the new one", "bob") })
	tell(none, "after bob's", "bob")
	if len(heard) != 0 {
		t.Errorf("also heard %s", <-heard)
	}
}

// TestSharedCacheIsNotOneParty: without isolation, clients share results, but a
// question is for the one whose request made the server ask.
func TestSharedCacheIsNotOneParty(t *testing.T) {
	f := server(nil, "x")
	var s *Server
	both, begun, answered := make(chan bool), make(chan bool), make(chan bool)
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		if string(c.Arguments) == `{"waits":true}` {
			begun <- true
			<-both
			return textResult("waited"), nil
		}
		_, err := s.Ask(context.Background(), "s", "elicitation/create", json.RawMessage(`{}`))
		close(answered)
		return textResult(fmt.Sprint(err)), nil
	}
	s, err := New(Options{Store: newStore(t), SharedCache: true, Upstreams: []Upstream{{Name: "s", Conn: f}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ann, bob := attach(t, s, Identity{Peer: "ann"}, clientOptions{}), attach(t, s, Identity{Peer: "bob"}, clientOptions{})
	go func() {
		<-answered
		close(both)
	}()
	waits := make(chan string)
	go func() {
		raw, err := ann.Call(context.Background(), "tools/call", json.RawMessage(`{"name":"x","arguments":{"waits":true},`+statelessMeta("")+`}`))
		waits <- fmt.Sprint(string(raw), err)
	}()
	<-begun
	if got := ask(t, bob, "tools/call", `{"name":"x","arguments":{},`+statelessMeta("")+`}`); !strings.Contains(got, "cannot tell which") {
		t.Errorf("bob gets %s", got)
	}
	if got := <-waits; !strings.Contains(got, "waited") {
		t.Errorf("ann gets %s", got)
	}
}

// TestWhyNobodyIsAsked: a server that asks at its start, before there is a client,
// is not told that there are several.
func TestWhyNobodyIsAsked(t *testing.T) {
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: server(nil, "x")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, want := range []string{
		"no client is connected to the proxy",
		"the client does not support roots/list",
		"the proxy cannot tell which of its clients this is for: several are connected, or have used the server",
	} {
		if _, err := s.Ask(t.Context(), "s", "roots/list", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		attach(t, s, Identity{}, clientOptions{})
	}
}
