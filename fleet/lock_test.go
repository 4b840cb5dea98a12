package fleet

import (
	"testing"
	"time"

	"rlmproxy/fleet/fleettest"
)

// TestLock: one replica has a lock. One whose time is over takes nothing from the next.
func TestLock(t *testing.T) {
	server := fleettest.Start(t)
	a, b := open(t, Options{URL: server.URL}), open(t, Options{URL: server.URL})
	key := a.Key("test", "lock")
	take := func(s *Store, life time.Duration) *Lock {
		t.Helper()
		l, err := s.Lock(t.Context(), key, life)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := take(a, time.Minute)
	if first == nil || take(b, time.Minute) != nil {
		t.Fatal("it is not one replica's")
	}
	if err := first.Extend(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	var second *Lock
	fleettest.Until(t, "the lock to end", func() bool { second = take(b, time.Minute); return second != nil })
	if err := first.Extend(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := first.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := server.Client.PTTL(t.Context(), key).Val(); left < time.Second || take(a, time.Minute) != nil {
		t.Errorf("a lock that has ended was extended or given back: %v left of the next", left)
	}
	if err := second.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if take(a, time.Minute) == nil {
		t.Error("it was not given back")
	}
}
