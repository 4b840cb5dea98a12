//lint:file-ignore SA1019 clients and servers of the older revisions still use roots, sampling and logging

package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/upstream"
)

// A mind is a process of one agent that counts what it is asked.
type mind struct {
	*fake
	agent  *relay.Connection
	closed chan struct{}

	mu    sync.Mutex // guards the fields below
	count int
	asked []string // methods and params of what is no tool
}

func (m *mind) Close() { close(m.closed) }

func (m *mind) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// minds is a server with a mind for each agent, which are sent on made. Its own
// connection is asked nothing.
func minds(t *testing.T, made chan<- *mind) Upstream {
	base := offering(nil)
	base.prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
	base.call = func(context.Context, toolCall) (json.RawMessage, error) {
		t.Error("a call reached the connection of nobody")
		return textResult(""), nil
	}
	base.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		t.Errorf("%s reached the connection of nobody", r.Method)
		return json.RawMessage(`{}`), nil
	}
	base.tools = server(nil, "next", "wait").tools
	return Upstream{Name: "s", TrustHints: true, Conn: base, PerAgent: func(a *relay.Connection) relay.OwnConn {
		m := &mind{fake: offering(nil), agent: a, closed: make(chan struct{})}
		m.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
			if c.Name == "wait" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			m.count++
			return textResult(fmt.Sprintf("%d", m.count)), nil
		}
		m.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.asked = append(m.asked, r.Method+" "+string(r.Params))
			return json.RawMessage(`{"messages":[],"resources":[],"contents":[],"completion":{}}`), nil
		}
		made <- m
		return m
	}}
}

func isolated(t *testing.T) (*Server, chan *mind) {
	t.Helper()
	made := make(chan *mind, 10)
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{minds(t, made)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, made
}

// TestEachAgentHasItsOwn: what agents do in a server that keeps state, by call or
// by proxy_*, stays with them, and ends with them.
func TestEachAgentHasItsOwn(t *testing.T) {
	s, made := isolated(t)
	one := connect(t, s)
	ask(t, one, "tools/list", `{}`)
	ask(t, one, "prompts/list", `{}`)
	if len(made) > 0 {
		t.Error("a list began a process")
	}
	var got []string
	got = append(got, text(t, one, "next", `{}`), text(t, one, "next", `{}`))
	two := connect(t, s)
	got = append(got, text(t, two, "next", `{}`))
	if read := text(t, one, "proxy_filter", `{"tool":"next","arguments":{},"jq":"."}`); !strings.HasSuffix(read, "\n\"3\"") {
		t.Errorf("a fresh call: %s", read)
	}
	got = append(got, text(t, two, "next", `{}`))
	if want := []string{"1", "2", "1", "2"}; !slices.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	first, second := <-made, <-made
	if first.agent.Number() == second.agent.Number() || len(made) > 0 {
		t.Errorf("numbers %d and %d, %d more", first.agent.Number(), second.agent.Number(), len(made))
	}
	for _, r := range [][2]string{
		{"prompts/get", `{"name":"p"}`}, {"resources/list", `{}`}, {"resources/read", `{"uri":"a:b"}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"p"}}`}, {"future/method", `{}`},
	} {
		if answer := ask(t, one, r[0], r[1]); strings.HasPrefix(answer, "error") {
			t.Errorf("%s: %s", r[0], answer)
		}
	}
	if n, none := len(first.requests()), len(second.requests()); n != 5 || none != 0 {
		t.Errorf("%d and %d requests", n, none)
	}
	for _, method := range []string{"notifications/roots/list_changed", "notifications/future"} {
		if err := two.Notify(t.Context(), method, json.RawMessage(`{}`)); err != nil {
			t.Fatal(err)
		}
		if heard := <-second.told; heard != method {
			t.Errorf("heard %s", heard)
		}
	}
	if len(first.told) > 0 {
		t.Errorf("another agent's server heard %s", <-first.told)
	}

	one.Close()
	<-first.closed
	if again := text(t, two, "next", `{}`); again != "3" {
		t.Errorf("after another agent has gone: %s", again)
	}
	s.Close()
	<-second.closed
	if refused := text(t, two, "next", `{}`); !strings.Contains(refused, "upstream_unavailable") {
		t.Errorf("after Close: %s", refused)
	}
}

func TestCrowdedSaysSo(t *testing.T) {
	made := make(chan *mind, 10)
	up := minds(t, made)
	up.MaxAgents = 1
	s, one := dial(t, Options{Upstreams: []Upstream{up}})
	defer s.Close()
	two := connect(t, s)
	text(t, one, "next", `{}`)
	d := decode(t, call(t, two, "next", `{}`))
	if got := d.Content[0].Text; d.Meta.Error["code"] != "upstream_unavailable" || !strings.Contains(got, "maxProcesses is 1, and all are in use") || !strings.Contains(got, "maxProcesses") {
		t.Errorf("%s", got)
	}
	if got := ask(t, two, "resources/list", `{}`); !strings.Contains(got, "upstream_unavailable") {
		t.Errorf("resources/list: %s", got)
	}
}

// TestOwnAsksItsAgent: what a process asks reaches its agent, though others have
// requests running as well.
func TestOwnAsksItsAgent(t *testing.T) {
	s, made := isolated(t)
	open := func(name string, can *mcp.ClientCapabilities) client {
		return clientOf(t, s, can, clientOptions{Handle: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"by":%q,"method":%q}`, name, method), nil
		}})
	}
	samples := &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}
	one, two, three := open("one", samples), open("two", samples), open("three", nil)
	var processes []*mind
	for _, conn := range []client{one, two, three} {
		go conn.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"wait","arguments":{}}`))
		processes = append(processes, <-made)
	}
	for n, name := range []string{"one", "two"} {
		m := processes[n]
		if !session.Declares(m.agent.Capabilities(t.Context()), "sampling/createMessage") {
			t.Errorf("%s: not told what its client can do", name)
		}
		got, err := m.agent.Ask(t.Context(), "sampling/createMessage", json.RawMessage(`{}`))
		if want := fmt.Sprintf(`{"by":%q,"method":"sampling/createMessage"}`, name); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if can := processes[2].agent.Capabilities(t.Context()); session.Declares(can, "sampling/createMessage") || session.Declares(can, "elicitation/create") {
		t.Errorf("told that a client can do what it cannot: %+v", can)
	}
	if _, err := processes[2].agent.Ask(t.Context(), "sampling/createMessage", nil); err == nil || !strings.Contains(err.Error(), "does not support") {
		t.Errorf("a client that cannot: %v", err)
	}
	if _, err := s.Ask(t.Context(), "s", "sampling/createMessage", nil); err == nil || !strings.Contains(err.Error(), "this connection has no client") {
		t.Errorf("nobody's connection: %v", err)
	}
}

// TestOwnOfSeveralClients: a process that was begun for a client which can do
// nothing serves one that can, if both are the same agent: it was told that nobody
// can be asked, for as long as it lived.
func TestOwnOfSeveralClients(t *testing.T) {
	s, made := isolated(t)
	open := func(can *mcp.ClientCapabilities) client {
		conn := attach(t, s, Identity{Subject: "ann"}, clientOptions{Handle: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"method":%q}`, method), nil
		}})
		conn.initialize(t, can)
		return conn
	}
	plain := open(&mcp.ClientCapabilities{})
	text(t, plain, "next", `{}`)
	m := <-made
	if can := m.agent.Capabilities(t.Context()); !session.Declares(can, "sampling/createMessage") || !session.Declares(can, "elicitation/create") || !session.Declares(can, "roots/list") {
		t.Errorf("told that its clients can %s", can)
	}
	waits := func(conn client, asked func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() {
			_, _ = conn.Call(ctx, "tools/call", json.RawMessage(`{"name":"wait","arguments":{}}`))
			close(ended)
		}()
		for running := 0; running == 0; time.Sleep(time.Millisecond) {
			running = m.agent.Running()
		}
		asked()
		cancel()
		<-ended
		for running := 1; running > 0; time.Sleep(time.Millisecond) {
			running = m.agent.Running()
		}
	}
	waits(plain, func() {
		if _, err := m.agent.Ask(t.Context(), "sampling/createMessage", json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), "does not support") {
			t.Errorf("a client that cannot: %v", err)
		}
	})
	waits(open(&mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}), func() {
		if got, err := m.agent.Ask(t.Context(), "sampling/createMessage", json.RawMessage(`{}`)); err != nil || !strings.Contains(string(got), "sampling") {
			t.Errorf("a later one that can: %s, %v", got, err)
		}
	})
	if len(made) > 0 {
		t.Error("another process was begun")
	}
}

// TestOwnTellsItsAgent: so does what it tells, and nobody hears of a change that
// he would not see.
func TestOwnTellsItsAgent(t *testing.T) {
	s, made := isolated(t)
	type heard chan string
	listen := func() (client, heard) {
		h := make(heard, 100)
		return clientOf(t, s, nil, clientOptions{Notify: func(method string, params json.RawMessage) {
			h <- method + " " + string(params)
		}}), h
	}
	one, hears := listen()
	two, other := listen()
	// Both set a level before anything of theirs runs, and subscribe to one URI.
	for _, conn := range []client{one, two} {
		if got := ask(t, conn, "logging/setLevel", `{"level":"error"}`); got != "{}" {
			t.Fatal(got)
		}
		if len(made) > 0 {
			t.Fatal("a level began a process")
		}
	}
	var processes []*mind
	for _, conn := range []client{one, two} {
		if got := ask(t, conn, "resources/subscribe", `{"uri":"a:b"}`); got != "{}" {
			t.Fatal(got)
		}
		processes = append(processes, <-made)
	}
	first, second := processes[0].agent, processes[1].agent
	for _, m := range processes {
		if got := m.requests(); !slices.Equal(got, []string{`resources/subscribe {"uri":"a:b"}`}) {
			t.Errorf("asked %q", got)
		}
	}
	expect := func(h heard, want string) {
		t.Helper()
		select {
		case got := <-h:
			if got != want {
				t.Errorf("heard %s, want %s", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("did not hear %s", want)
		}
	}
	first.Tell(t.Context(), "notifications/tools/list_changed", nil)
	first.Tell(t.Context(), "notifications/prompts/list_changed", nil)
	s.Tell(t.Context(), "s", "notifications/message", json.RawMessage(`{"level":"error","data":"nobody's"}`))
	s.Tell(t.Context(), "s", "notifications/resources/updated", json.RawMessage(`{"uri":"a:b"}`))
	first.Tell(t.Context(), "notifications/message", json.RawMessage(`{"level":"info"}`))
	first.Tell(t.Context(), "notifications/message", json.RawMessage(`{"level":"error"}`))
	expect(hears, `notifications/message {"level":"error"}`)
	first.Tell(t.Context(), "notifications/resources/updated", json.RawMessage(`{"uri":"a:b"}`))
	expect(hears, `notifications/resources/updated {"uri":"a:b"}`)
	first.Tell(t.Context(), "notifications/resources/list_changed", nil)
	expect(hears, `notifications/resources/list_changed {}`)
	second.Tell(t.Context(), "notifications/resources/updated", json.RawMessage(`{"uri":"a:b"}`))
	expect(other, `notifications/resources/updated {"uri":"a:b"}`)
	ask(t, one, "ping", `{}`)
	ask(t, two, "ping", `{}`)
	if len(hears)+len(other) > 0 {
		t.Errorf("%d and %d notifications too many", len(hears), len(other))
	}

	// A process that starts once more is told where it was.
	first.Connected()
	for until := time.Now().Add(10 * time.Second); len(processes[0].requests()) < 3 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	if got, want := processes[0].requests()[1:], []string{`resources/subscribe {"uri":"a:b"}`, `logging/setLevel {"level":"error"}`}; !slices.Equal(got, want) {
		t.Errorf("asked %q", got)
	}
	if got := ask(t, one, "resources/unsubscribe", `{"uri":"a:b"}`); got != "{}" {
		t.Error(got)
	}
	if asked := processes[0].requests(); asked[len(asked)-1] != `resources/unsubscribe {"uri":"a:b"}` || len(processes[1].requests()) != 1 {
		t.Errorf("asked %q and %q", asked, processes[1].requests())
	}
}

// TestOwnOfAStatelessClient: a client of 2026-07-28 says with each request what it
// can do, and hears of changes where it listens.
func TestOwnOfAStatelessClient(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
	s, made := isolated(t)
	heard := make(chan gjson.Result, 10)
	open := func() client {
		return rawClient(t, s, clientOptions{Notify: func(method string, params json.RawMessage) {
			heard <- gjson.Parse(fmt.Sprintf(`{"method":%q,"params":%s}`, method, params))
		}})
	}
	conn, other := open(), open()
	if got := ask(t, conn, "tools/call", `{"name":"next","arguments":{},`+meta+`}`); gjson.Get(got, "content.0.text").String() != "1" {
		t.Fatal(got)
	}
	m := <-made
	if can := m.agent.Capabilities(t.Context()); !session.Declares(can, "elicitation/create") || session.Declares(can, "sampling/createMessage") {
		t.Errorf("told that its client can %s", can)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for _, c := range []client{conn, other} {
		wg.Go(func() {
			c.Call(ctx, "subscriptions/listen", json.RawMessage(`{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["a:b"]},`+meta+`}`))
		})
		if got := <-heard; got.Get("method").String() != "notifications/subscriptions/acknowledged" {
			t.Fatal(got)
		}
	}
	of := <-made // the other agent's subscription began a process
	for _, method := range []string{"notifications/resources/list_changed", "notifications/resources/updated"} {
		m.agent.Tell(t.Context(), method, json.RawMessage(`{"uri":"a:b"}`))
		got := <-heard
		if got.Get("method").String() != method || !got.Get(`params._meta.io\.modelcontextprotocol/subscriptionId`).Exists() || strings.Contains(got.Raw, "only-for") {
			t.Errorf("heard %s", got)
		}
	}
	// Whatever else was on its way comes before what follows it.
	for _, m := range []*mind{m, of} {
		m.agent.Tell(t.Context(), "notifications/resources/updated", json.RawMessage(`{"uri":"a:b","last":1}`))
		if got := <-heard; !got.Get("params.last").Exists() && !strings.Contains(got.Raw, "updated") {
			t.Errorf("heard %s too", got)
		}
	}
}

// rawClient speaks for itself: it does not shake hands.
func rawClient(t *testing.T, s *Server, opts clientOptions) client {
	t.Helper()
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	served := make(chan error)
	go func() { served <- s.Serve(context.Background(), r1, w2) }()
	conn := newClient(r2, w1, opts)
	t.Cleanup(func() {
		conn.Close()
		<-served
	})
	return conn
}
