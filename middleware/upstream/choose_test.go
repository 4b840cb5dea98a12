package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/upstream/transport"
)

const sayWhich = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/logLevel":"error"},`

// eras is a server whose tool says in which revision it was called.
func eras(versions ...string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		SupportedProtocolVersions: versions,
		Capabilities:              &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{Subscribe: true}},
		SubscribeHandler: func(_ context.Context, r *mcp.SubscribeRequest) error {
			if strings.HasSuffix(r.Params.URI, "none") {
				return mcp.ResourceNotFoundError(r.Params.URI)
			}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	s.AddTool(&mcp.Tool{Name: "which", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		can, _ := json.Marshal(r.ClientCapabilities())
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.ProtocolVersion() + " " + string(can)}}}, nil
	})
	return s
}

func which(t *testing.T, u *Upstream, newest bool) string {
	t.Helper()
	r := Request{Method: "tools/call", Params: json.RawMessage(`{"name":"which"}`), Stateless: newest}
	if newest {
		r.Params = json.RawMessage(sayWhich + `"name":"which"}`)
	} else {
		r.Can = json.RawMessage(`{"elicitation":{"form":{}}}`)
	}
	raw, err := u.Call(t.Context(), r)
	if err != nil {
		return err.Error()
	}
	version, can, _ := strings.Cut(gjson.GetBytes(raw, "content.0.text").String(), " ")
	if version == revision.Stateless && !gjson.Get(can, "elicitation").Exists() {
		t.Errorf("what the client can do does not reach the server: %s", raw)
	}
	if (version == revision.Stateless) != (gjson.GetBytes(raw, "resultType").String() == "complete") {
		t.Errorf("result %s", raw)
	}
	return version
}

// TestRevisionOfTheClient: a server is spoken to in the revision of its clients,
// as far as it knows it.
func TestRevisionOfTheClient(t *testing.T) {
	const older, newest = "2025-11-25", revision.Stateless
	for _, tt := range []struct {
		name    string
		http    bool
		first   bool     // the first client is known to speak the stateless revision
		server  []string // revisions, or all
		callers string   // o: an older client calls, n: one of the newest
		want    string   // the same by what the server sees
	}{
		{"stream, older", false, false, nil, "ooo", "ooo"},
		{"stream, newest", false, false, nil, "nn", "nn"},
		{"stream, older first", false, false, nil, "onono", "ooooo"},
		{"stream, newest first", false, false, nil, "nonon", "nnnnn"},
		{"stream, known before", false, true, nil, "nno", "nnn"},
		{"stream, an older server", false, false, []string{older}, "nno", "ooo"},
		{"stream, an older server, known before", false, true, []string{older}, "nno", "ooo"},
		{"stream, a newer server", false, false, []string{newest}, "nno", "nnn"}, // the SDK's knows initialize all the same
		{"HTTP, older first", true, false, nil, "onono", "onono"},
		{"HTTP, newest first", true, false, nil, "nono", "nono"},
		{"HTTP, known before", true, true, nil, "nno", "nnn"},
		{"HTTP, an older server", true, false, []string{older}, "nno", "ooo"},
		{"HTTP, a newer server", true, false, []string{newest}, "ono", "nnn"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := eras(tt.server...)
			dial := InProcess(server)
			if tt.http {
				web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
				defer web.Close()
				defer web.CloseClientConnections()
				dial = Remote(web.URL, "http", nil)
			}
			u := New(Options{Name: "s", Dial: dial, Stateless: func() bool { return tt.first }})
			defer u.Close()
			got := ""
			for _, c := range tt.callers {
				switch v := which(t, u, c == 'n'); v {
				case older:
					got += "o"
				case newest:
					got += "n"
				default:
					got += "(" + v + ")"
				}
			}
			if got != tt.want {
				t.Errorf("called %s, the server sees %s, want %s", tt.callers, got, tt.want)
			}
		})
	}
}

// TestProbe: whatever an older server makes of a message that it does not know,
// calls reach it in its own revision, and it is not asked again.
func TestProbe(t *testing.T) {
	for how, newer := range map[string]func(ctx context.Context) error{
		"refuses": func(context.Context) error { return errors.New("method not found") },
		"hangs":   func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var probes atomic.Int64
				dial := func(context.Context, hooks) (*session, error) {
					s := fake(func(method string) (string, error) {
						if method == "tools/call" {
							return `{"old":1}`, nil
						}
						return `{"tools":[],"prompts":[]}`, nil
					})
					s.open = func(ctx context.Context, _ transport.Options) (conn, error) {
						probes.Add(1)
						return nil, newer(ctx)
					}
					return s, nil
				}
				u := New(Options{Dial: dial})
				defer u.Close()
				begun := time.Now()
				for range 3 {
					raw, err := u.Call(t.Context(), Request{Method: "tools/call", Stateless: true})
					if string(raw) != `{"old":1}` {
						t.Errorf("%s, %v", raw, err)
					}
				}
				if took := time.Since(begun); took > probeWait || probes.Load() != 1 {
					t.Errorf("%v, %d probes", took, probes.Load())
				}
			})
		})
	}
}

// TestProbeDelaysNobody: while a server is asked for its newest revision, older
// clients are served, and the end of the server or of the caller ends the wait.
func TestProbeDelaysNobody(t *testing.T) {
	for _, how := range []string{"the older client", "the server", "the caller", "the proxy"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dialled := make(chan *session, 9)
				dials := 0
				dial := func(context.Context, hooks) (*session, error) {
					dials++
					dials := dials
					s := fake(func(method string) (string, error) {
						return fmt.Sprintf(`{"dial":%d,"tools":[],"prompts":[]}`, dials), nil
					})
					s.open = func(ctx context.Context, _ transport.Options) (conn, error) {
						<-ctx.Done()
						return nil, context.Cause(ctx)
					}
					dialled <- s
					return s, nil
				}
				u := New(Options{Dial: dial, MinBackoff: time.Millisecond})
				ctx, cancel := context.WithCancel(t.Context())
				waits := make(chan string, 1)
				go func() {
					raw, err := u.Call(ctx, Request{Method: "tools/call", Stateless: true})
					waits <- fmt.Sprint(gjson.GetBytes(raw, "dial"), err)
				}()
				time.Sleep(time.Second)
				begun := time.Now()
				want := ""
				switch how {
				case "the older client":
					if _, err := u.Call(t.Context(), Request{Method: "tools/call"}); err != nil || time.Since(begun) != 0 {
						t.Errorf("an older client: %v after %v", err, time.Since(begun))
					}
					want = "1 <nil>"
				case "the server":
					(<-dialled).conn.Close()
					want = "2 <nil>"
				case "the caller":
					cancel()
					want = `server "" is not available: still asking whether it speaks 2026-07-28: context canceled`
				case "the proxy":
					u.Close()
					want = `server "" is not available: the proxy is closing`
				}
				if got := strings.TrimSpace(<-waits); got != want {
					t.Errorf("who waits gets %s, want %s", got, want)
				}
				cancel()
				u.Close()
			})
		})
	}
}

// TestWatch: subscriptions in the stateless revision, which are requests that last.
func TestWatch(t *testing.T) {
	for _, transport := range []string{"stream", "HTTP"} {
		t.Run(transport, func(t *testing.T) {
			server := eras(revision.Stateless)
			dial := InProcess(server)
			if transport == "HTTP" {
				web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
				defer web.Close()
				defer web.CloseClientConnections()
				dial = Remote(web.URL, "http", nil)
			}
			told := make(chan string, 10)
			u := New(Options{Name: "s", Dial: dial, Notify: func(_ context.Context, method string, params json.RawMessage) {
				told <- method + " " + gjson.GetBytes(params, "uri").String()
			}})
			defer u.Close()
			send := func(method, uri string) error {
				_, err := u.Call(t.Context(), Request{Method: method, Params: json.RawMessage(`{"uri":"` + uri + `"}`)})
				return err
			}
			change := func(uri string) {
				t.Helper()
				if err := server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
			}
			for _, uri := range []string{"x:a", "x:b", "x:a"} {
				if err := send("resources/subscribe", uri); err != nil {
					t.Fatal(err)
				}
			}
			if err := send("resources/subscribe", "x:none"); err == nil || !strings.Contains(err.Error(), "not found") {
				t.Errorf("a resource that is none: %v", err)
			}
			change("x:c")
			change("x:a")
			if got := receive(t, "an update", told); got != "notifications/resources/updated x:a" {
				t.Errorf("told %s", got)
			}
			if err := send("resources/unsubscribe", "x:a"); err != nil {
				t.Fatal(err)
			}
			change("x:b")
			if got := receive(t, "an update", told); got != "notifications/resources/updated x:b" {
				t.Errorf("told %s", got)
			}
			server.AddTool(&mcp.Tool{Name: "late", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
			if got := receive(t, "a change", told); got != "notifications/tools/list_changed " {
				t.Errorf("told %s", got)
			}
		})
	}
}

// TestOneProcess: a server that refuses the stateless revision need not be started
// again.
func TestOneProcess(t *testing.T) {
	server := eras("2025-11-25")
	started := 0
	u := New(Options{Name: "s", Stateless: func() bool { return true }, Dial: dialer(func(_ context.Context, opts transport.Options) (conn, error) {
		started++
		return transport.InProcess(server, opts)
	})})
	defer u.Close()
	if got := which(t, u, true); got != "2025-11-25" {
		t.Errorf("called in %s", got)
	}
	if started != 1 {
		t.Errorf("started %d times", started)
	}
}

// TestUsedIsKept: once a client of an older revision has used a process, no other
// is started to ask for the newest one: it could not take its place.
func TestUsedIsKept(t *testing.T) {
	server := eras()
	started := 0
	u := New(Options{Name: "s", Dial: dialer(func(_ context.Context, opts transport.Options) (conn, error) {
		started++
		return transport.InProcess(server, opts)
	})})
	got := which(t, u, false) + " " + which(t, u, true) + " " + which(t, u, true)
	u.Close()
	if want := "2025-11-25 2025-11-25 2025-11-25"; got != want || started != 1 {
		t.Errorf("called in %s, started %d times", got, started)
	}
}
