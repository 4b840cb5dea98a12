//lint:file-ignore SA1019 servers of the older revisions still log

package middleware

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/middleware/upstream"
)

// TestLevelsOfSeveralClients: the server has the most verbose level that a client
// wants, while that client is there, and hears of it again after a restart.
func TestLevelsOfSeveralClients(t *testing.T) {
	f := offering(nil)
	told := make(chan string, 10)
	f.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		if r.Method == "logging/setLevel" {
			told <- gjson.GetBytes(r.Params, "level").String()
		}
		return json.RawMessage(`{}`), nil
	}
	mute := offering(nil)
	mute.info.Capabilities.Logging = nil
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Prefix: "s", Conn: f}, {Name: "mute", Prefix: "mute", Conn: mute}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	hears := func(want string) {
		t.Helper()
		select {
		case got := <-told:
			if got != want {
				t.Errorf("the server is told %q, want %q", got, want)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("the server is not told %q", want)
		}
	}
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	served := make(chan error)
	go func() { served <- s.Serve(context.Background(), r1, w2) }()
	conn := newClient(r2, w1, clientOptions{})
	conn.initialize(t, nil)
	quiet := clientOf(t, s, nil, clientOptions{})
	ask(t, conn, "logging/setLevel", `{"level":"debug"}`)
	hears("debug")
	if got := ask(t, quiet, "logging/setLevel", `{"level":"error"}`); got != `{}` {
		t.Error(got)
	}
	s.ListsChanged("s")                                   // nothing new
	ask(t, conn, "logging/setLevel", `{"level":"debug"}`) // so that what waits has been told
	f.info = &upstream.Info{Capabilities: f.info.Capabilities}
	s.ListsChanged("s") // started again
	hears("debug")
	conn.Close()
	<-served
	hears("error")
	for _, level := range []string{"verbose", "none", ""} {
		if got := ask(t, quiet, "logging/setLevel", `{"level":"`+level+`"}`); !strings.Contains(got, "is not one of") {
			t.Errorf("level %q: %s", level, got)
		}
	}
	ask(t, quiet, "logging/setLevel", `{"level":"warning"}`)
	hears("warning")
	if len(told) > 0 {
		t.Errorf("the server is told %q", <-told)
	}
}

// TestLevelIsRaised: a server of an older revision, which logs as it was told, is told
// the level that a request of the newest names, before that request, and once.
func TestLevelIsRaised(t *testing.T) {
	f := offering(nil)
	var heard []string // by one request after the other
	f.answer = func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		if r.Method == "logging/setLevel" {
			heard = append(heard, gjson.GetBytes(r.Params, "level").String())
		} else {
			heard = append(heard, r.Method)
		}
		return json.RawMessage(`{"contents":[]}`), nil
	}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	get := func(conn client, level string) {
		t.Helper()
		ask(t, conn, "resources/read", `{"uri":"a:b",`+statelessMeta(`"`+mcp.MetaKeyLogLevel+`":"`+level+`",`)+`}`)
	}
	conn := attach(t, s, Identity{}, clientOptions{})
	get(conn, "warning")
	get(conn, "error")
	get(attach(t, s, Identity{}, clientOptions{}), "info")
	get(conn, "warning")
	if got, want := strings.Join(heard, " "), "warning resources/read resources/read info resources/read resources/read"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestLevelIsRaisedLater: a server that has not connected yet is told the level of the
// request that waits for it once it has.
func TestLevelIsRaisedLater(t *testing.T) {
	f := server(nil, "x")
	told := make(chan string, 10)
	var s *Server
	f.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		if r.Method == "logging/setLevel" {
			told <- gjson.GetBytes(r.Params, "level").String()
			return json.RawMessage(`{}`), nil
		}
		return textResult("x"), nil
	}
	f.call = func(context.Context, toolCall) (json.RawMessage, error) {
		f.locked(func() {
			f.info = &upstream.Info{Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}}}
		})
		s.ListsChanged("s")
		return textResult("x"), nil
	}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn := attach(t, s, Identity{}, clientOptions{})
	ask(t, conn, "tools/call", `{"name":"x","arguments":{},`+statelessMeta(`"`+mcp.MetaKeyLogLevel+`":"info",`)+`}`)
	select {
	case got := <-told:
		if got != "info" {
			t.Errorf("told %q", got)
		}
	case <-time.After(5 * time.Second):
		t.Error("not told")
	}
}
