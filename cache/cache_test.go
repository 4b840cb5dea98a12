package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMain(m *testing.M) {
	validate = true
	os.Exit(m.Run())
}

// open returns a store that is closed with the test.
func open(tb testing.TB, opts Options) *Store {
	tb.Helper()
	s, err := New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// A total is what a store keeps.
type total struct {
	agents, entries int
	bytes           int64
	tombstones      int
}

func totals(s *Store) total {
	var now Stats
	s.index.totals(&now)
	t := total{agents: now.Agents, entries: now.Entries, bytes: now.Bytes}
	if x, ok := s.index.(*shared); ok {
		r, err := x.do("totals", "")
		if err != nil {
			panic(err)
		}
		t.tombstones = int(r.number(3))
		return t
	}
	l := s.index.(*local)
	l.mu.Lock()
	defer l.unlock()
	t.tombstones = len(l.tombstones.byID)
	return t
}

// derivedBytes is what ristretto holds.
func derivedBytes(s *Store) int64 {
	s.derived.kept.Wait()
	return s.derived.kept.MaxCost() - s.derived.kept.RemainingCost()
}

func put(tb testing.TB, s *Store, agent, text string) ID {
	tb.Helper()
	id, err := s.Put(agent, Origin{Tool: "fs_read"}, []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// answer is what an id answers: its data, or the error.
func answer(s *Store, agent string, id ID) string {
	e, err := s.Get(agent, id)
	switch {
	case errors.Is(err, ErrUnknown):
		return "unknown"
	case errors.Is(err, ErrExpired):
		return "expired"
	case errors.Is(err, ErrEvicted):
		return "evicted"
	case err != nil:
		return err.Error()
	}
	return string(e.Data)
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		opts Options
		want string
	}{
		{Options{}, ""},
		{Options{MaxEntriesPerAgent: -1}, "cache: MaxEntriesPerAgent is negative: -1"},
		{Options{MaxBytesPerAgent: -1}, "cache: MaxBytesPerAgent is negative: -1"},
		{Options{MaxBytes: -2}, "cache: MaxBytes is negative: -2"},
		{Options{MaxAgents: -1}, "cache: MaxAgents is negative: -1"},
		{Options{MaxTombstones: -1}, "cache: MaxTombstones is negative: -1"},
		{Options{TTL: -1}, "cache: TTL is negative: -1"},
		{Options{DerivedBytes: -1}, "cache: DerivedBytes is negative: -1"},
		{Options{Key: []byte("short")}, "cache: Key has 5 bytes, fewer than 16"},
	} {
		s, err := New(tt.opts)
		if got := fmt.Sprint(err); err != nil && got != tt.want || err == nil && tt.want != "" {
			t.Errorf("New(%+v): %v, want %q", tt.opts, err, tt.want)
		}
		if err == nil {
			s.Close()
		}
	}
}

func TestID(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		testID(t, w.open(t, Options{Key: []byte("sixteen bytes!!!")}), w.another(t).open(t, Options{}), w.another(t).open(t, Options{Key: []byte("sixteen bytes!!!")}))
	})
}

// testID has a store, one with another key, and one that knows no more than its key.
func testID(t *testing.T, s, other, later *Store) {
	id := func(s *Store, agent, tool, args, data string) ID {
		id, err := s.Put(agent, Origin{Tool: tool, Arguments: json.RawMessage(args)}, []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	a := id(s, "a", "t", "{}", "data")
	if len(a) != 16 || strings.Trim(string(a), "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("id %q is not 16 characters of base32", a)
	}
	if again := id(s, "a", "t", "{}", "data"); again != a {
		t.Errorf("the same again: %s, then %s", a, again)
	}
	for _, tt := range []struct {
		name string
		id   ID
	}{
		{"agent", id(s, "b", "t", "{}", "data")},
		{"tool", id(s, "a", "u", "{}", "data")},
		{"arguments", id(s, "a", "t", "{ }", "data")},
		{"data", id(s, "a", "t", "{}", "date")},
		{"boundary", id(s, "a", "t{}", "", "data")},
		{"key", id(other, "a", "t", "{}", "data")},
	} {
		if tt.id == a {
			t.Errorf("another %s, but the same id", tt.name)
		}
	}
	// A store with the same key, after a restart perhaps, knows its ids.
	if got := answer(later, "a", a); got != "evicted" {
		t.Errorf("same key: %s, want evicted", got)
	}
	if got := answer(other, "a", a); got != "unknown" {
		t.Errorf("other key: %s, want unknown", got)
	}
}

func TestGet(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{})
		data := []byte(`{"n": 9007199254740993}`)
		origin := Origin{Tool: "db_query", Arguments: json.RawMessage(`{"sql":"SELECT 1"}`)}
		id, err := s.Put("a", origin, data)
		if err != nil {
			t.Fatal(err)
		}
		e, err := s.Get("a", id)
		if err != nil || e.ID != id || e.Agent != "a" || !bytes.Equal(e.Data, data) ||
			e.Origin.Tool != origin.Tool || !bytes.Equal(e.Origin.Arguments, origin.Arguments) {
			t.Errorf("Get = %+v, %v", e, err)
		}
		for _, tt := range []struct {
			name, agent string
			id          ID
		}{
			{"another agent's", "b", id},
			{"no agent's", "a", "aaaaaaaaaaaaaaaa"},
			{"a bad tag", "a", id[:12] + "aaaa"},
			{"empty", "a", ""},
			{"long", "a", ID(strings.Repeat("a", 1<<20))},
			{"upper case", "a", ID(strings.ToUpper(string(id)))},
		} {
			// The very same error, so that nothing tells one from another.
			if _, err := s.Get(tt.agent, tt.id); err != ErrUnknown {
				t.Errorf("%s: %v, want ErrUnknown", tt.name, err)
			}
		}
	})
}

func TestEmptyData(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{})
		id := put(t, s, "a", "")
		if e, err := s.Get("a", id); err != nil || len(e.Data) != 0 {
			t.Errorf("Get = %v, %v", e, err)
		}
	})
}

func TestExpiry(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{TTL: time.Minute})
		id := put(t, s, "a", "one")
		for range 3 { // each read counts anew
			w.sleep(59 * time.Second)
			if got := answer(s, "a", id); got != "one" {
				t.Fatalf("after 59s: %s", got)
			}
		}
		w.sleep(time.Minute)
		if got := answer(s, "a", id); got != "expired" {
			t.Errorf("after 60s: %s", got)
		}
		if again := put(t, s, "a", "one"); again != id || answer(s, "a", id) != "one" {
			t.Errorf("put again: %s: %s", again, answer(s, "a", again))
		}
	})
}

// Memory comes back although nobody asks for the entries.
func TestSweep(t *testing.T) {
	check := func(t *testing.T, s *Store, id ID) {
		if got := totals(s); got != (total{tombstones: 1}) {
			t.Errorf("after the sweep: %+v", got)
		}
		if got := answer(s, "a", id); got != "expired" {
			t.Errorf("the id answers %s", got)
		}
	}
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{TTL: time.Hour})
		id := put(t, s, "a", "one")
		w.sleep(time.Hour)
		s.index.sweep()
		check(t, s, id)
	})
	synctest.Test(t, func(t *testing.T) { // which is done now and then
		s := open(t, Options{TTL: time.Hour})
		id := put(t, s, "a", "one")
		time.Sleep(time.Hour + time.Minute + time.Second)
		check(t, s, id)
	})
}

func TestGoneError(t *testing.T) { forms(t, testGoneError) }

func testGoneError(t *testing.T, w *world) {
	for _, tt := range []struct {
		name           string
		tool, args     string
		wantTool, want string
	}{
		{"small", "git_log", `{"n":3}`, "git_log", `{"n":3}`},
		{"long arguments", "git_log", strings.Repeat("x", 2049), "git_log", ""},
		{"long tool", strings.Repeat("t", 257), `{}`, "", ""},
	} {
		s := w.another(t).open(t, Options{MaxEntriesPerAgent: 1})
		id, _ := s.Put("a", Origin{Tool: tt.tool, Arguments: json.RawMessage(tt.args), ReadOnly: tt.tool != ""}, nil)
		put(t, s, "a", "two")
		_, err := s.Get("a", id)
		var gone *GoneError
		if !errors.As(err, &gone) || !errors.Is(err, ErrEvicted) || errors.Is(err, ErrExpired) {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if gone.ID != id || gone.Origin.Tool != tt.wantTool || gone.Origin.ReadOnly != (tt.wantTool != "") || string(gone.Origin.Arguments) != tt.want {
			t.Errorf("%s: %+v", tt.name, gone)
		}
		if _, err := s.Get("b", id); err != ErrUnknown {
			t.Errorf("%s: another agent gets %v", tt.name, err)
		}
	}
}

func TestForget(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{MaxEntriesPerAgent: 1})
		one, two, b := put(t, s, "a", "one"), put(t, s, "a", "two"), put(t, s, "b", "three")
		s.Forget("a")
		s.Forget("nobody")
		if got := totals(s); got != (total{agents: 1, entries: 1, bytes: int64(len("threefs_read"))}) {
			t.Errorf("%+v", got)
		}
		for _, id := range []ID{one, two} {
			var gone *GoneError
			if _, err := s.Get("a", id); !errors.As(err, &gone) || gone.Reason != Evicted || gone.Origin.Tool != "" {
				t.Errorf("forgotten: %v", err)
			}
		}
		if got := answer(s, "b", b); got != "three" {
			t.Errorf("the other agent's: %s", got)
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		s, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		id := put(t, s, "a", "one")
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Get("a", id); err != ErrClosed {
			t.Errorf("Get: %v", err)
		}
		if _, err := s.Put("a", Origin{}, nil); err != ErrClosed {
			t.Errorf("Put: %v", err)
		}
		if _, err := s.Derived("a", id, "tree", nil); err != ErrClosed {
			t.Errorf("Derived: %v", err)
		}
		s.Forget("a")
	})
}

// Agents' names may be credentials.
func TestLog(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		var log bytes.Buffer
		s := w.open(t, Options{
			MaxEntriesPerAgent: 1,
			Logger:             slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		id := put(t, s, "secret-token", "one")
		put(t, s, "secret-token", "two")
		if got := log.String(); !strings.Contains(got, "reason=evicted id="+string(id)) || strings.Contains(got, "secret") {
			t.Errorf("log: %s", got)
		}
	})
}
