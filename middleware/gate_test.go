package middleware

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/queue"
	"rlmproxy/middleware/upstream"
)

// TestNothingBeforeTheHandshake: servers connect while the client's handshake waits
// for them. Of what they ask and tell then, and that their lists are there now, the
// client hears nothing before it is initialized, and of the lists nothing at all.
func TestNothingBeforeTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := server(nil, "x")
		f.info = &upstream.Info{Capabilities: &mcp.ServerCapabilities{}}
		s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		heard := make(chan string, 10)
		opts := hears(heard, "")
		opts.Handle = func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
			heard <- method
			return json.RawMessage(`{"roots":[]}`), nil
		}
		r1, w1 := io.Pipe()
		r2, w2 := io.Pipe()
		served := make(chan error)
		go func() { served <- s.Serve(context.Background(), r1, w2) }()
		conn := newClient(r2, w1, opts)
		defer func() {
			conn.Close()
			<-served
		}()
		const hello = `{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}`
		s.ListsChanged("s") // it has connected
		if _, err := conn.Call(t.Context(), "initialize", json.RawMessage(hello)); err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() {
			_, err := s.Ask(t.Context(), "s", "roots/list", nil)
			answered <- err
		}()
		s.Tell(t.Context(), "s", "notifications/message", json.RawMessage(`{"level":"info","data":"up"}`))
		time.Sleep(time.Second) // several changes are told of at once
		if len(heard) > 0 || len(answered) > 0 {
			t.Fatalf("heard %q before it is initialized", <-heard)
		}
		if err := conn.Notify(t.Context(), "notifications/initialized", nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := <-answered; err != nil {
			t.Error(err)
		}
		got := map[string]bool{}
		for len(heard) > 0 {
			got[<-heard] = true
		}
		if len(got) != 2 || !got["roots/list"] || !got[` notifications/message {"level":"info","data":"up"}`] {
			t.Errorf("heard %v", got)
		}
		f.change()
		s.ListsChanged("s")
		time.Sleep(time.Second)
		if len(heard) != 1 || <-heard != " notifications/tools/list_changed {}" {
			t.Error("of a server that has nothing but tools, not just their change was heard")
		}
	})
}

// TestLateListsAreTold: who was answered without a server hears when it is there.
func TestLateListsAreTold(t *testing.T) {
	f := server(nil)
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	heard := make(chan string, 10)
	clientOf(t, s, nil, hears(heard, ""))
	f.tools, f.info = server(nil, "x").tools, &upstream.Info{}
	s.ListsChanged("s")
	if what := <-heard; what == "" {
		t.Error("nothing heard")
	}
}

// TestListsBeforeTheHandshake: a server whose lists change while another keeps the
// handshake waiting is heard of by nobody who has not shaken hands.
func TestListsBeforeTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := offering(nil)
		s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		heard := make(chan string, 10)
		conn := attach(t, s, Identity{}, hears(heard, ""))
		s.ListsChanged("s") // it has connected
		f.change()
		s.ListsChanged("s") // again
		s.Tell(t.Context(), "s", "notifications/resources/list_changed", nil)
		time.Sleep(time.Second) // several changes are told of at once
		if len(heard) > 0 {
			t.Fatalf("heard %q before it is initialized", <-heard)
		}
		const hello = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`
		ask(t, conn, "initialize", hello)
		f.change()
		s.ListsChanged("s")
		time.Sleep(time.Second)
		if len(heard) > 0 {
			t.Fatalf("heard %q before it is initialized", <-heard)
		}
		ask(t, conn, "logging/setLevel", `{"level":"info"}`) // some never say that they are
		f.change()
		s.ListsChanged("s")
		s.Tell(t.Context(), "s", "notifications/message", json.RawMessage(`{"level":"info","data":1}`))
		time.Sleep(time.Second)
		if len(heard) != 4 {
			t.Errorf("%d notifications of three lists and a log message", len(heard))
		}
	})
}

// TestAllThatWaitedIsTold: what was held back goes out at once, to a client that
// reads none of it meanwhile.
func TestAllThatWaitedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: server(nil, "x")}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r1, w1 := io.Pipe()
		r2, w2 := io.Pipe()
		served := make(chan error)
		go func() { served <- s.Serve(t.Context(), r1, &outlet{WriteCloser: w2}) }()
		synctest.Wait()
		for range queue.MaxWaiting {
			s.Tell(t.Context(), "s", "notifications/message", json.RawMessage(`{"level":"info","data":"up"}`))
		}
		io.WriteString(w1, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		synctest.Wait()
		n := 0
		go func() {
			for lines := bufio.NewScanner(r2); lines.Scan(); {
				n++
			}
		}()
		synctest.Wait()
		if n != queue.MaxWaiting {
			t.Errorf("%d of %d log messages came", n, queue.MaxWaiting)
		}
		w1.Close()
		<-served
		r2.Close()
	})
}

// TestPromptsThatAreGone: a server that has come back without its prompts has changed
// their list.
func TestPromptsThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := server(nil, "x")
		f.prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
		f.info = &upstream.Info{Capabilities: &mcp.ServerCapabilities{Prompts: &mcp.PromptCapabilities{}}}
		s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		heard := make(chan string, 10)
		conn := attach(t, s, Identity{}, hears(heard, ""))
		const hello = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`
		ask(t, conn, "initialize", hello)
		ask(t, conn, "tools/list", `{}`)
		s.ListsChanged("s")
		f.locked(func() { f.prompts, f.info = nil, &upstream.Info{Capabilities: &mcp.ServerCapabilities{}} })
		for _, want := range []int{1, 0} { // the prompts; nothing more
			s.ListsChanged("s")
			time.Sleep(time.Second)
			if len(heard) != want || want > 0 && <-heard != " notifications/prompts/list_changed {}" {
				t.Errorf("heard %d notifications, want %d of prompts", len(heard), want)
			}
		}
	})
}

// TestOtherLetters: servers in Go take "Name" for "name", and the last of them counts. Who
// sent both called a tool that was denied, held back, or not theirs.
func TestOtherLetters(t *testing.T) {
	f := server(nil, "read", "delete")
	var called []string
	f.raw = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		called = append(called, r.Method+string(r.Params))
		return textResult("done"), nil
	}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, Deny: []string{"delete"}}}})
	for _, tt := range []struct{ method, params string }{
		{"tools/call", `{"name":"read","Name":"delete"}`},
		{"tools/call", `{"NAME":"delete","name":"read"}`},
		{"tools/call", `{"name":"read","\u004eame":"delete"}`},
		{"tools/call", `{"name":"read","arguments":{"a":1},"argumentſ":{"a":2}}`},
		{"resources/read", `{"uri":"a:b","URI":"a:c"}`},
		{"tasks/get", `{"taskId":"1","taskid":"2"}`},
		{"tools/call", `{"name":"read","requeſtState":"x"}`},
	} {
		if got := ask(t, conn, tt.method, tt.params); !strings.Contains(got, "must be spelled") {
			t.Errorf("%s: %s", tt.params, got)
		}
	}
	if len(called) > 0 {
		t.Errorf("the server got %q", called)
	}
	if got := ask(t, conn, "tools/call", `{"name":"read","Future":1.0,"arguments":{"Name":"x"}}`); !strings.Contains(got, "done") {
		t.Error(got)
	}
}
