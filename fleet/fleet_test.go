package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet/fleettest"
)

func open(t testing.TB, opts Options) *Store {
	t.Helper()
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func ping(ctx context.Context, c redis.Cmdable) error { return c.Ping(ctx).Err() }

// TestAway: a store that goes costs one error at once, and is back by itself, also with its
// data lost.
func TestAway(t *testing.T) {
	server := fleettest.Start(t)
	s := open(t, Options{URL: server.URL})
	back := make(chan bool, 10)
	s.OnBack(func() { back <- true })
	if err := s.Run(t.Context(), ping); err != nil {
		t.Fatal(err)
	}
	before := s.Keys("test")[0]
	server.Kill()
	for range 3 {
		begun := time.Now()
		var away *AwayError
		if err := s.Run(t.Context(), ping); !errors.As(err, &away) || away.Retry <= 0 {
			t.Fatalf("while it is away: %v", err)
		}
		if took := time.Since(begun); took > opTime {
			t.Errorf("it took %v to find out", took)
		}
	}
	if since, err := s.Away(); since.IsZero() || err == nil || !s.Figures().Away {
		t.Error("it is not said to be away")
	}
	server.Restart()
	<-back
	if err := s.Run(t.Context(), ping); err != nil {
		t.Fatal(err)
	}
	if string(s.Keys("test")[0]) != string(before) {
		t.Error("its secret was lost with the store's data")
	}
}

// TestForgotten: a store that was restarted without anybody noticing has forgotten the
// replica, which learns that.
func TestForgotten(t *testing.T) {
	server := fleettest.Start(t)
	s := open(t, Options{URL: server.URL})
	back := make(chan bool, 10)
	s.OnBack(func() { back <- true })
	if err := server.Client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	<-back
	if names, err := s.Replicas(t.Context()); err != nil || !slices.Contains(names, s.Replica()) {
		t.Errorf("%v, %v", names, err)
	}
}

// TestSecret: all have the same keys, also who came while the store was away, and who was
// given the secret needs no store for it.
func TestSecret(t *testing.T) {
	server := fleettest.Start(t)
	a, b := open(t, Options{URL: server.URL}), open(t, Options{URL: server.URL})
	other := open(t, Options{URL: server.URL, Name: "other"})
	if string(a.Keys("x")[0]) != string(b.Keys("x")[0]) {
		t.Error("two replicas have two keys")
	}
	if string(a.Keys("x")[0]) == string(a.Keys("y")[0]) || string(a.Keys("x")[0]) == string(other.Keys("x")[0]) {
		t.Error("one key for two purposes or fleets")
	}
	server.Kill()
	late := open(t, Options{URL: server.URL})
	own := late.Keys("x")[0]
	given := open(t, Options{URL: server.URL, Secret: "a secret of 32 letters or more..."})
	server.Restart()
	fleettest.Until(t, "the store is back", func() bool {
		for _, s := range []*Store{a, b, late, given} {
			if s.Figures().Away {
				return false
			}
		}
		return true
	})
	fleettest.Until(t, "they agree", func() bool {
		return len(late.Keys("x")) == 2 && reflect.DeepEqual(a.Keys("x"), b.Keys("x")) && reflect.DeepEqual(a.Keys("x"), late.Keys("x"))
	})
	if !slices.ContainsFunc(a.Keys("x"), func(key []byte) bool { return string(key) == string(own) }) {
		t.Error("what was used while the store was away does not count any more")
	}
	if again := open(t, Options{URL: server.URL, Secret: "a secret of 32 letters or more..."}); string(again.Keys("x")[0]) != string(given.Keys("x")[0]) {
		t.Error("a given secret makes two keys")
	}
}

// TestTell: what is told arrives at one, or at all others; and after the store was away.
func TestTell(t *testing.T) {
	server := fleettest.Start(t)
	a, b, c := open(t, Options{URL: server.URL}), open(t, Options{URL: server.URL}), open(t, Options{URL: server.URL})
	heard := make(chan string, 100)
	for name, s := range map[string]*Store{"a": a, "b": b, "c": c} {
		s.Handle("greeting", func(from string, body json.RawMessage) { heard <- name + " " + string(body) })
	}
	tell := func(to, text string, want ...string) {
		t.Helper()
		missing := map[string]bool{}
		for _, w := range want {
			missing[w] = true
		}
		fleettest.Until(t, text, func() bool { // a subscription may be on its way
			if err := a.Tell(t.Context(), to, "greeting", text); err != nil {
				return false
			}
			for {
				select {
				case h := <-heard:
					if strings.HasPrefix(h, "a ") || to != "" && !strings.HasPrefix(h, "b ") {
						t.Fatalf("heard: %s", h)
					}
					delete(missing, h)
				case <-time.After(20 * time.Millisecond):
					return len(missing) == 0
				}
			}
		})
	}
	tell(b.Replica(), "one", `b "one"`)
	tell("", "all", `b "all"`, `c "all"`)
	server.Kill()
	_ = a.Run(t.Context(), ping)
	server.Restart()
	tell("", "again", `b "again"`, `c "again"`)
	if err := a.Tell(t.Context(), "", "greeting", strings.Repeat("x", MaxTold)); err == nil {
		t.Error("too much was told")
	}
	fleettest.Until(t, "b says again that it is there", func() bool {
		alive, err := a.Alive(t.Context(), b.Replica())
		return alive && err == nil
	})
	b.Close()
	if alive, err := a.Alive(t.Context(), b.Replica()); err != nil || alive {
		t.Errorf("b after its end: %v %v", alive, err)
	}
}

// TestCheck: URLs as people write them. No error repeats a password.
func TestCheck(t *testing.T) {
	for _, good := range []string{"redis://h", "rediss://u:p@h:6380/1", "unix:///run/redis.sock", "redis://h:26379?master_name=main&addr=h2:26379",
		"redis://h:6379?cluster=true", "rediss://u:p@h:6379?cluster=true&addr=h2:6379", "redis://h?dial_timeout=1s"} {
		if err := Check(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "h:6379", "http://h", "redis://", "redis://:swordfish@h:bad", "redis://u:swordfish@h/x", "redis://u:swordfish@h?odd=1", "redis://u:swordfish@h?dial_timeout=x",
		"redis://u:swordfish@h?master_name=m&addr=swordfish", "redis://u:swordfish@h%zz"} {
		if err := Check(bad); err == nil || strings.Contains(err.Error(), "swordfish") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestRefused: a password that is wrong is told as such, without it. One that was right once
// is the store's matter, not the replica's.
func TestRefused(t *testing.T) {
	server := fleettest.Start(t)
	known := open(t, Options{URL: server.URL})
	if err := server.Client.ConfigSet(t.Context(), "requirepass", "right").Err(); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal").Err(); err != nil {
		t.Fatal(err)
	}
	fleettest.Until(t, "the store is away", func() bool { _ = known.Run(t.Context(), ping); return known.Figures().Away })
	if known.Denied() {
		t.Error("a replica that was served is denied")
	}
	var log strings.Builder
	s, err := Open(Options{URL: strings.Replace(server.URL, "unix://", "unix://default:swordfish@", 1), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	_, cause := s.Away()
	if cause == nil || !strings.Contains(cause.Error(), "WRONGPASS") || !s.Denied() {
		t.Errorf("cause: %v, denied: %t", cause, s.Denied())
	}
	s.Close()
	if strings.Contains(log.String(), "swordfish") {
		t.Errorf("log: %s", log.String())
	}
}

// TestMayNot: what the user of the store may not do costs what a store costs that is away,
// and the log says so.
func TestMayNot(t *testing.T) {
	server := fleettest.Start(t)
	var log strings.Builder
	s, err := Open(Options{URL: server.URL, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	script := redis.NewScript(`return redis.call('FLUSHALL')`)
	for _, f := range []func(context.Context, redis.Cmdable) error{
		func(ctx context.Context, c redis.Cmdable) error { return c.FlushAll(ctx).Err() },
		func(ctx context.Context, c redis.Cmdable) error { return c.Get(ctx, "not of a fleet").Err() },
		func(ctx context.Context, c redis.Cmdable) error { return script.Run(ctx, c, nil).Err() },
	} {
		fleettest.Until(t, "the store is there", func() bool { return !s.Figures().Away })
		var away *AwayError
		if err := s.Run(t.Context(), f); !errors.As(err, &away) {
			t.Error(err)
		}
	}
	if s.Denied() {
		t.Error("a replica that was served is denied")
	}
	s.Close()
	if n := strings.Count(log.String(), "may not do enough"); n != 1 {
		t.Errorf("%d lines of the log say so:\n%s", n, log.String())
	}
}

// TestFlood: a replica that is slow to take what others tell it does not hold all of that, and
// hears what they tell later.
func TestFlood(t *testing.T) {
	server := fleettest.Start(t)
	slow, from := open(t, Options{URL: server.URL}), open(t, Options{URL: server.URL})
	hold, heard := make(chan bool), make(chan bool, 1)
	slow.Handle("flood", func(string, json.RawMessage) { <-hold })
	slow.Handle("later", func(string, json.RawMessage) {
		select {
		case heard <- true:
		default:
		}
	})
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, text := held(), strings.Repeat("x", 1<<20)
	for range 150 {
		if err := from.Tell(t.Context(), slow.Replica(), "flood", text); err != nil {
			t.Fatal(err)
		}
	}
	if more := int64(held()) - int64(before); more > 40<<20 {
		t.Errorf("%d MB are held", more>>20)
	}
	close(hold)
	fleettest.Until(t, "it hears again", func() bool {
		_ = from.Tell(t.Context(), slow.Replica(), "later", 1)
		return len(heard) > 0
	})
}

// TestDeniedOne: a store that answers, and refuses one thing that is asked of it whenever it is
// back, is not back many times a second.
func TestDeniedOne(t *testing.T) {
	server := fleettest.Start(t)
	if err := server.Client.Do(t.Context(), "ACL", "SETUSER", "default", "-hget").Err(); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{URL: server.URL})
	var times atomic.Int64
	ask := func() {
		_ = s.Run(s.Life(), func(ctx context.Context, c redis.Cmdable) error { return c.HGet(ctx, s.Key("x"), "y").Err() })
	}
	s.OnBack(func() {
		times.Add(1)
		ask()
	})
	begun := time.Now()
	ask()
	fleettest.Until(t, "it is back some times", func() bool { return times.Load() >= 3 })
	if took := time.Since(begun); took < probeTime {
		t.Errorf("it was back 3 times in %v", took)
	}
}
