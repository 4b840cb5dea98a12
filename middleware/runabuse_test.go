package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"rlmproxy/middleware/observe"
)

// TestRunPanic: a fault of ours in what a program asks for costs that one call, and no worker.
func TestRunPanic(t *testing.T) {
	f := server(nil, "boom", "echo")
	f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
		if c.Name == "boom" {
			panic("secret")
		}
		return textResult("here"), nil
	}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}, Programs: scripts(t), Code: true})
	for range 5 { // there are four workers, two for an agent
		if got := text(t, conn, "proxy_run", runs("try { call('boom') } catch (e) { return e.code + ' ' + call('echo') }")); got != "internal here" {
			t.Error(got)
		}
		if got := text(t, conn, "proxy_run", runs("return callAll([['boom'], ['echo']])")); !strings.HasPrefix(got, `[{"error":"internal error (ref `) || !strings.HasSuffix(got, `"here"]`) || strings.Contains(got, "secret") {
			t.Error(got)
		}
	}
}

// TestRunCallAllIsBounded: what many calls return is not held beyond what their program gets.
func TestRunCallAllIsBounded(t *testing.T) {
	large := textResult(strings.Repeat("x", 8<<20))
	var calls atomic.Int32
	f := server(nil, "large")
	f.call = func(context.Context, toolCall) (json.RawMessage, error) { calls.Add(1); return large, nil }
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}, Programs: scripts(t), Code: true})
	got := text(t, conn, "proxy_run", runs("try { callAll(Array(40).fill(['large'])) } catch (e) { return e.code + ' ' + e.message }"))
	if n := calls.Load(); n > 16 || !strings.HasPrefix(got, "limit_memory callAll: the results have more than 67,108,864 bytes together") || !strings.Contains(got, fmt.Sprintf("the first %d of 40 are made", n)) {
		t.Errorf("%d calls: %s", n, got)
	}
}

// kept is the id under which the short result of a tool is kept.
func kept(t *testing.T, conn client, tool string) string {
	t.Helper()
	_, id, _ := strings.Cut(text(t, conn, "proxy_filter", fmt.Sprintf(`{"tool":%q,"jq":"."}`, tool)), "cache_id=")
	return id[:16]
}

// TestRunObserved: the observers hear of a program's calls as they go, with the handles of each, so
// that not all of their arguments are held until it ends.
func TestRunObserved(t *testing.T) {
	h := &heard{}
	so := []observe.Call{}
	f := server(nil, "first", "echo", "look")
	f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
		if c.Name == "look" {
			so = h.take()
		}
		return textResult("some"), nil
	}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}, Programs: scripts(t), Code: true, Observers: []observe.Observer{h}})
	id := kept(t, conn, "first")
	h.take()
	if got := text(t, conn, "proxy_run", runs(fmt.Sprintf("for (let i = 0; i < 5; i++) callAll(Array(8).fill(['echo', {a: 'rlmproxy://cache/%s'}])); return call('look')", id))); got != "some" {
		t.Fatal(got)
	}
	if len(so) != 40 {
		t.Errorf("before the last call, %d of 40 were told of", len(so))
	}
	for _, c := range so {
		if c.Name != "echo" || len(c.Handles) != 1 || c.Outcome != observe.OK {
			t.Fatalf("%s, %d handles", line(c), len(c.Handles))
		}
	}
	if rest := h.take(); len(rest) != 2 || len(rest[0].Handles) > 0 {
		t.Errorf("%d calls later", len(rest))
	}
}
