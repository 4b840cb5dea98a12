package middleware

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rlmproxy/cache"
	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
)

// TestStoreAway: while the store that replicas share is away, what another replica keeps cannot
// be read, and who asks is told when to try again: no call is made again for it, and new
// results are cut and queried as ever. Then all is there, on both.
func TestStoreAway(t *testing.T) {
	redis := fleettest.Start(t, "--appendonly", "yes")
	var calls atomic.Int64
	replica := func() (client, *fleet.Store) {
		shared, err := fleet.Open(fleet.Options{URL: redis.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(shared.Close)
		store, err := cache.New(cache.Options{Fleet: shared})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		f := server(nil, "read")
		f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
			calls.Add(1)
			if strings.Contains(string(c.Arguments), "two") {
				return textResult(records(500)), nil
			}
			return textResult(records(400)), nil
		}
		s, err := New(Options{Store: store, Upstreams: []Upstream{{Name: "s", Conn: f, TrustHints: true}}, Replica: shared.Replica()})
		if err != nil {
			t.Fatal(err)
		}
		return clientAs(t, s, Identity{Subject: "ann"}, make(chan string, 100)), shared
	}
	a, _ := replica()
	b, shared := replica()
	one := cutID(t, a, "read", `{"n":"one"}`)
	redis.Kill()
	const away = "store_unavailable: the shared store does not answer\nhint: try again in 5 seconds"
	for query, want := range map[string]string{
		`proxy_filter {"cache_id":"ID","jq":"length"}`:               away,
		`proxy_explore {"cache_id":"ID"}`:                            away,
		`proxy_search {"cache_id":"ID","pattern":"x"}`:               away,
		`proxy_filter {"cache_ids":["ID","ID"],"jq":"length"}`:       away,
		`read {"n":"rlmproxy://cache/ID?jq=length"}`:                 strings.Replace(away, ": the", ": arguments.n: the", 1),
		`proxy_filter {"cache_id":"aaaaaaaaaaaaaaaa","jq":"length"}`: "unknown_cache_id: ",
	} {
		tool, args, _ := strings.Cut(strings.ReplaceAll(query, "ID", one), " ")
		if got := text(t, b, tool, args); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", query, got)
		}
	}
	if got := ask(t, b, "resources/read", `{"uri":"rlmproxy://cache/`+one+`/0"}`); !strings.Contains(got, "store_unavailable: the shared store does not answer; try again in 5 seconds") {
		t.Errorf("resources/read: %s", got)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls were made for what is only away", n-1)
	}
	if got := text(t, a, "proxy_filter", `{"cache_id":"`+one+`","jq":"length"}`); got != "400" {
		t.Errorf("where it was put: %s", got)
	}
	two := cutID(t, b, "read", `{"n":"two"}`)
	if got := text(t, b, "proxy_filter", `{"cache_id":"`+two+`","jq":"length"}`); got != "500" {
		t.Errorf("what was cut meanwhile: %s", got)
	}
	redis.Restart()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if text(t, a, "proxy_filter", `{"cache_id":"`+two+`","jq":"length"}`) == "500" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("what was cut meanwhile is not at the other replica")
		}
	}
	if got := text(t, b, "proxy_filter", `{"cache_id":"`+one+`","jq":"length"}`); got != "400" || shared.Figures().Away {
		t.Errorf("when the store is back: %s", got)
	}
}
