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
