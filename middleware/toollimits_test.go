package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/cache"
	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/session"
)

// TestToolLimits: a tool's rateLimit counts each agent's calls, its concurrency those of
// all, and a glob's are of all its tools together.
func TestToolLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &Upstream{Name: "s", Policy: Policy{Concurrency: 2}, Tools: map[string]Policy{
			"get_*": {RateLimit: 2}, "one": {Concurrency: 1},
		}}
		var l toolLimits
		begin := func(tool, party, want string) func() {
			t.Helper()
			done, err := l.admit(t.Context(), up.Name, up.policy(tool), party, 10*time.Second)
			if got := fmt.Sprint(err); !strings.Contains(got, want) {
				t.Errorf("%s of %s: %s, want %s", tool, party, got, want)
			}
			if done == nil {
				return func() {}
			}
			return done
		}
		a := begin("get_a", "ann", "nil")
		begin("get_b", "ann", "nil")()
		begin("get_a", "ann", "rate_limited: this agent has begun 2 calls of this tool within a minute, the most allowed: try again in 30s")
		b := begin("get_a", "bob", "nil")
		begin("other", "ann", "2 calls of this tool are running, the most allowed, and none ended within 10s")
		one := begin("one", "ann", "nil")
		var wg sync.WaitGroup
		wg.Go(func() { begin("one", "bob", "nil")() })
		synctest.Wait()
		one()
		a()
		b()
		wg.Wait()
		begin("other", "ann", "nil")()
	})
}

// TestCallsOfOneParty: a server that several use works on some calls of each at a time, so
// that one with many delays nobody else's. One that one party uses gets all its calls.
func TestCallsOfOneParty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		hold := make(chan struct{})
		f := server(nil, "wait", "quick")
		f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
			if c.Name == "wait" {
				running.Add(1)
				defer running.Add(-1)
				select {
				case <-hold:
				case <-ctx.Done():
				}
			}
			return textResult("done"), nil
		}
		store, err := cache.New(cache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{Store: store, Upstreams: []Upstream{{Name: "s", Conn: f}}})
		if err != nil {
			t.Fatal(err)
		}
		attach := func(name string) *session.Session {
			c := s.Attach(deaf{}, Identity{Subject: name}, rpc.Options{})
			c.Receive(t.Context(), rpc.Message{ID: json.RawMessage("0"), Method: "initialize", Params: json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}`)})
			synctest.Wait()
			return c
		}
		ann, bob := attach("ann"), attach("bob")
		calls := func(c *session.Session, tool string, first, n int) {
			for i := range n {
				err := c.Receive(t.Context(), rpc.Message{ID: json.RawMessage(fmt.Sprint(first + i)), Method: "tools/call", Params: json.RawMessage(`{"name":"` + tool + `"}`)})
				if err != nil {
					t.Error(err)
				}
			}
			synctest.Wait()
		}
		calls(ann, "wait", 1, 20)
		if n := running.Load(); n != 20 {
			t.Errorf("%d of 20 calls run of the only party", n)
		}
		calls(bob, "quick", 1, 1)
		if n := bob.Serving(); n != 0 {
			t.Errorf("%d calls of another wait", n)
		}
		close(hold)
		synctest.Wait()
		hold = make(chan struct{})
		calls(ann, "wait", 1, 20)
		if n := running.Load(); n != 8 {
			t.Errorf("%d of 20 calls run beside another party", n)
		}
		close(hold)
		synctest.Wait()
		if n := ann.Serving(); n != 0 {
			t.Errorf("%d calls wait in the end", n)
		}
		ann.End()
		bob.End()
		s.Close()
		store.Close()
		if n := s.Accounts().Held(); n != 0 {
			t.Errorf("%d bytes are still counted", n)
		}
	})
}

// A deaf client is told all, and hears nothing.
type deaf struct{}

func (deaf) Send(context.Context, rpc.Message) error { return nil }
func (deaf) Try(context.Context, rpc.Message)        {}

// TestToolLimitsOfReplicas: calls of a tool that an agent has begun at one replica count at
// the others, those of another limit do not.
func TestToolLimitsOfReplicas(t *testing.T) {
	server := fleettest.Start(t)
	up := &Upstream{Name: "s", Tools: map[string]Policy{"get_*": {RateLimit: 2}, "put_*": {RateLimit: 2}}}
	var replicas []*toolLimits
	for range 2 {
		store, err := fleet.Open(fleet.Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(store.Close)
		replicas = append(replicas, &toolLimits{fleet: store})
	}
	for i, tt := range []struct {
		replica           int
		tool, party, want string
	}{
		{0, "get_a", "ann", "nil"}, {1, "get_b", "ann", "nil"},
		{0, "get_a", "ann", "rate_limited: this agent has begun 2 calls of this tool within a minute, the most allowed: try again in 30s"},
		{1, "get_a", "ann", "rate_limited: this agent has begun 2 calls of this tool within a minute, the most allowed: try again in 30s"},
		{1, "put_a", "ann", "nil"}, {1, "get_a", "bob", "nil"},
		{0, "get_a", "connection-1", "nil"}, {0, "get_a", "connection-1", "nil"}, {1, "get_a", "connection-1", "nil"}, // which is another one
	} {
		done, err := replicas[tt.replica].admit(t.Context(), up.Name, up.policy(tt.tool), tt.party, time.Second)
		if got := fmt.Sprint(err); !strings.Contains(got, tt.want) {
			t.Errorf("%d: %s, want %s", i, got, tt.want)
		}
		if err == nil {
			done()
		}
	}
}
