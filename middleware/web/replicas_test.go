package web

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/upstream"
)

// serveReplica serves a proxy that shares a store with others, before a server that asks, and
// reports; its call ends are sent on ended.
func serveReplica(t *testing.T, redis *fleettest.Server, kept *cache.Store, ended chan<- error) *site {
	t.Helper()
	store, err := fleet.Open(fleet.Options{URL: redis.URL})
	if err != nil {
		t.Fatal(err)
	}
	var server *middleware.Server
	f := withT(func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		answer, err := server.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{"message":"who?"}`))
		if err != nil {
			return nil, err
		}
		for n := range 3 {
			r.Progress(json.RawMessage(`{"progressToken":1,"progress":` + string(rune('1'+n)) + `}`))
		}
		if gjson.GetBytes(answer, "wait").Bool() {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil, context.Cause(ctx)
		}
		return text(string(answer)), nil
	})
	if server, err = middleware.New(middleware.Options{Store: kept, Fleet: store, Upstreams: []middleware.Upstream{{Name: "s", Conn: f}}}); err != nil {
		t.Fatal(err)
	}
	guard, err := auth.New(auth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, url: "http://" + l.Addr().String() + "/mcp", server: server, h: New(Options{Guard: guard, Attach: attach(server), Accounts: server.Accounts()})}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.h.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		server.LeaveFleet(0)
		server.Close()
		store.Close()
		if n := server.Accounts().Held(); n != 0 {
			t.Errorf("%d bytes are counted for clients that have gone", n)
		}
	})
	return s
}

// TestAnsweredElsewhere: over HTTP, a client of 2026-07-28 that answers at another replica reads there
// what its request tells, in order; one that goes ends the request at the server.
func TestAnsweredElsewhere(t *testing.T) {
	http.DefaultClient.CloseIdleConnections()
	before := settled()
	ended := make(chan error, 1)
	t.Run("replicas", func(t *testing.T) {
		kept, err := cache.New(cache.Options{Key: []byte("0123456789abcdef")})
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Close()
		redis := fleettest.Start(t)
		one, two := serveReplica(t, redis, kept, ended), serveReplica(t, redis, kept, ended)
		call := func(params string) string {
			return `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{` + params + `"name":"t","arguments":{},"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
		}
		header := append([]string{"Rlmproxy-Agent", "ann"}, aloneHeader...)
		begin := func() string {
			got := body(t, one.do("POST", call(""), header...))
			state := gjson.Get(got, "result.requestState").Raw
			if state == "" {
				t.Fatal(got)
			}
			return state
		}
		got := body(t, two.do("POST", call(`"requestState":`+begin()+`,"inputResponses":{"q1":{"a":1.0}},`), header...))
		last := -1
		for _, part := range []string{`"progress":1`, `"progress":2`, `"progress":3`, `"id":"a","result":{"content":[{"type":"text","text":"{\"a\":1.0}"}]`} {
			at := strings.Index(got, part)
			if at <= last || strings.Count(got, part) != 1 {
				t.Errorf("%s in %s", part, got)
			}
			last = at
		}
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, "POST", two.url, strings.NewReader(call(`"requestState":`+begin()+`,"inputResponses":{"q1":{"wait":true}},`)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := events(t, resp.Body, 3); len(got) != 3 {
			t.Errorf("%q", got)
		}
		cancel()
		resp.Body.Close()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Error("the call goes on at the server")
		}
	})
	http.DefaultClient.CloseIdleConnections()
	if after := settled(); after > before {
		t.Errorf("%d goroutines, and %d before", after, before)
	}
}
