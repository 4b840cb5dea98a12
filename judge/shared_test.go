package judge_test

import (
	"strings"
	"testing"
	"time"

	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
	"rlmproxy/judge"
)

// What one replica had judged another one knows, for the same agent; the store learns nothing.
func TestShared(t *testing.T) {
	server := fleettest.Start(t)
	replica := func() *judge.Judge {
		store, err := fleet.Open(fleet.Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(store.Close)
		return judge.New(judge.Options{Shelf: judge.NewShared(store, time.Minute)})
	}
	items, want := complaints(700)
	one, other, m := replica(), replica(), newLocal(about)
	ask := func(j *judge.Judge, agent string) *judge.Report {
		t.Helper()
		r, err := j.Ask(t.Context(), agent, m, question, items, nil)
		if err != nil || r.Judged != len(items) || !same(count(r), want) {
			t.Fatalf("%+v, %v", report(r), err)
		}
		return r
	}
	ask(one, "alice")
	if r := ask(other, "alice"); r.Cached != len(items) || r.Calls != 0 {
		t.Errorf("the other replica: %+v", report(r))
	}
	if r := ask(other, "bob"); r.Cached != 0 {
		t.Errorf("another agent: %+v", report(r))
	}
	keys, err := server.Client.Keys(t.Context(), "rlmproxy:*judged*").Result()
	if err != nil || len(keys) != 2*len(items) {
		t.Fatal(len(keys), err)
	}
	for _, key := range keys[:50] {
		value, _ := server.Client.Get(t.Context(), key).Result()
		for _, secret := range []string{"alice", "bob", "delivery", "quality", "price"} {
			if strings.Contains(key+value, secret) {
				t.Fatalf("%q is in %q: %q", secret, key, value)
			}
		}
		if ttl := server.Client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > time.Minute {
			t.Fatalf("it lives %v", ttl)
		}
	}
	// What is forged there, or taken from another key, is not believed.
	swap, _ := server.Client.Get(t.Context(), keys[0]).Result()
	for i, key := range keys[1:] {
		value := swap
		if i%2 == 0 {
			value = `{"v":"price","c":1}`
		}
		if err := server.Client.Set(t.Context(), key, value, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if r := ask(replica(), "alice"); r.Cached > 1 {
		t.Errorf("forged: %+v", report(r))
	}
	// Without the store, what this replica knows counts.
	server.Kill()
	if r := ask(one, "alice"); r.Cached != len(items) {
		t.Errorf("without the store: %+v", report(r))
	}
	if r := ask(one, "carol"); r.Cached != 0 {
		t.Errorf("without the store, another agent: %+v", report(r))
	}
}

// TestHourOfFleet: what an agent may take in an hour it may take once, whichever replicas it asks.
// While the store is away, each counts what it has given itself.
func TestHourOfFleet(t *testing.T) {
	server := fleettest.Start(t)
	items, _ := complaints(900) // 30 calls
	for name, budget := range map[string]judge.Budget{"calls": {Calls: 20}, "tokens": {Tokens: 30_000}} {
		var replicas []*judge.Judge
		for range 2 {
			store, err := fleet.Open(fleet.Options{URL: server.URL, Name: name})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(store.Close)
			replicas = append(replicas, judge.New(judge.Options{PerHour: budget, Fleet: store, Concurrency: 1}))
		}
		ask := func(j *judge.Judge, agent string, items []string) *judge.Report {
			t.Helper()
			r, err := j.Ask(t.Context(), agent, newLocal(about), question, items, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		first := ask(replicas[0], "alice", items[:300])
		if first.Judged != 300 || first.Stopped != "" {
			t.Fatalf("%s: %+v", name, report(first))
		}
		rest := ask(replicas[1], "alice", items[300:])
		took := first.Calls + rest.Calls
		if budget.Tokens > 0 {
			took = first.Input + first.Output + rest.Input + rest.Output
		}
		if most := budget.Calls + budget.Tokens; took > most || took < most*8/10 || !strings.Contains(rest.Stopped, "in an hour are spent: there are more in ") {
			t.Errorf("%s: %d were taken, and then %q", name, took, rest.Stopped)
		}
		if r := ask(replicas[1], "bob", items[:300]); r.Judged != 300 {
			t.Errorf("%s: another agent: %+v", name, report(r))
		}
		keys, _ := server.Client.Keys(t.Context(), "*asked*").Result()
		for _, key := range keys {
			if ttl := server.Client.PTTL(t.Context(), key).Val(); strings.Contains(key, "alice") || ttl < time.Hour || ttl > 66*time.Minute {
				t.Errorf("%s: %s lives %v", name, key, ttl)
			}
		}
		server.Kill()
		if r := ask(replicas[0], "alice", items[300:]); r.Judged == 0 || r.Stopped == "" || budget.Calls > 0 && r.Calls != 10 {
			t.Errorf("%s: while the store is away: %+v", name, report(r))
		}
		server.Restart()
	}
}
