package pin

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"rlmproxy/fleet/fleettest"
	"rlmproxy/middleware/upstream"
)

// on is the server fs at a replica with a state folder of its own.
func (f *place) on(dir string, quarantine bool) *Server {
	return f.replica(dir, false).Server(Identity{"fs", []string{"cmd"}}, quarantine, slog.New(slog.NewTextHandler(&f.log, nil)))
}

// accept is what the operator does on a machine of theirs.
func (f *place) accept() {
	f.t.Helper()
	if err := f.replica(f.t.TempDir(), false).Update(func(all []*Record) error {
		for _, r := range all {
			for _, tool := range r.Held() {
				r.Accept(tool)
			}
		}
		return nil
	}); err != nil {
		f.t.Fatal(err)
	}
}

func (s *Server) held(defs ...string) string {
	return strings.Join(s.Check(tools(defs...), all).Names(), " ")
}

// TestShared: what one replica has pinned holds at all, and what is accepted counts at all.
func TestShared(t *testing.T) {
	f := newPlace(t)
	a, b := f.on(t.TempDir(), false), f.on(t.TempDir(), false)
	if held := a.held("a: x", "b: y"); held != "" {
		t.Fatal(held)
	}
	list := tools("a: new", "b: y")
	if held := b.Check(list, all).Names(); !slices.Equal(held, []string{"a"}) {
		t.Errorf("at another replica %q are held back", held)
	}
	f.accept()
	fleettest.Until(t, "what was accepted passes", func() bool { return len(b.Check(list, all).Names()) == 0 })
	if held := a.held("a: x", "b: y"); held != "a" {
		t.Errorf("what was pinned before is held back: %q", held)
	}
	c := f.on(t.TempDir(), true)
	if held := c.held("a: new", "b: y", "c: z"); held != "c" {
		t.Errorf("in quarantine: %q", held)
	}
}

// TestTold: who changes a record tells the others, who ask the store once then, and else
// every two seconds.
func TestTold(t *testing.T) {
	f := newPlace(t)
	a, b := f.on(t.TempDir(), false), f.on(t.TempDir(), false)
	a.held("a: x", "b: x")
	list := tools("a: y", "b: y")
	b.Check(list, all)
	store := b.store.shelf.(*shared)
	before := store.store.Figures().Ops
	for range 1000 {
		b.Check(list, all)
	}
	if ops := store.store.Figures().Ops - before; ops > 4 { // with those by which it says that it is there
		t.Errorf("1000 checks ask the store %d times", ops)
	}
	n := 0
	fleettest.Until(t, "the others are told", func() bool {
		n++
		a.held(fmt.Sprint("a: ", n), "b: x") // which writes what was seen
		store.mu.Lock()
		defer store.mu.Unlock()
		return store.known[b.name].at.IsZero()
	})
}

// TestDifferentLists: replicas whose servers differ do not write by turns without end.
func TestDifferentLists(t *testing.T) {
	f := newPlace(t)
	f.on(t.TempDir(), false).held("a: x", "b: x")
	type running struct {
		server *Server
		list   []upstream.Tool
	}
	var replicas []running
	for _, list := range [][]upstream.Tool{tools("a: x", "b: y"), tools("a: 1", "b: 1"), tools("a: 2", "b: 2")} {
		replicas = append(replicas, running{f.on(t.TempDir(), false), list})
	}
	round := func() string {
		for _, r := range replicas {
			store := r.server.store.shelf.(*shared)
			store.mu.Lock()
			clear(store.known) // as if it had been told
			store.mu.Unlock()
			r.server.Check(r.list, all)
		}
		s := replicas[0].server
		return f.shared.Client.HGet(t.Context(), s.store.shelf.(*shared).key(s.name), "revision").Val()
	}
	round()
	settled := round()
	for range 5 {
		if round() != settled {
			t.Fatal("the record is written again though no list has changed")
		}
	}
	for i, want := range []string{"b", "a b", "a b"} {
		if held := strings.Join(replicas[i].server.Check(replicas[i].list, all).Names(), " "); held != want {
			t.Errorf("replica %d holds back %q, want %q", i, held, want)
		}
	}
}

// TestTakenOver: pins that a replica has from before are those of the store, if that has none.
func TestTakenOver(t *testing.T) {
	f := newPlace(t)
	before, err := Open(f.dir, "", false)
	if err != nil {
		t.Fatal(err)
	}
	id, log := Identity{"fs", []string{"cmd"}}, slog.New(slog.DiscardHandler)
	before.Server(id, false, log).held("a: x")
	kept := f.on(f.dir, false)
	if names := kept.CheckKept(tools("a: evil"), all).Names(); !slices.Equal(names, []string{"a"}) {
		t.Errorf("of the list from the last time %q are held back", names)
	}
	if held := f.on(f.dir, false).held("a: evil"); held != "a" {
		t.Errorf("after the upgrade: %q", held)
	}
	if held := f.on(t.TempDir(), false).held("a: evil"); held != "a" {
		t.Errorf("at a replica that had none: %q", held)
	}
	f.accept()
	if held := f.on(f.dir, false).held("a: x"); held != "a" {
		t.Errorf("what it had is taken over again: %q", held)
	}
	// What was forgotten is not taken over again either, from whomever.
	if n, err := f.replica(t.TempDir(), false).Forget("fs"); n != 1 || err != nil {
		t.Error(n, err)
	}
	if records, err := f.open(true).Records(); len(records) != 0 || err != nil {
		t.Error(records, err)
	}
	if held := f.on(f.dir, false).held("a: other"); held != "" {
		t.Errorf("after forget: %q", held)
	}
	if n, err := f.open(false).Forget("nobody"); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// TestStoreAway: while the store is away the last verdicts stand, and nothing new passes; when
// it is back, with its data lost, what this replica knows is what counts.
func TestStoreAway(t *testing.T) {
	f := newPlace(t)
	a, never := f.on(t.TempDir(), false), f.on(t.TempDir(), false)
	list := tools("a: x", "b: y")
	first := a.Check(list, all)
	f.shared.Kill()
	if a.Check(list, all) != first {
		t.Error("another verdict")
	}
	next := tools("a: x", "b: evil", "c: new")
	v := a.Check(next, all)
	if !slices.Equal(v.Names(), []string{"b", "c"}) {
		t.Errorf("while it is away %q are held back", v.Names())
	}
	if why, _ := v.Held("c"); !strings.Contains(why, "the shared store with the pins is away") || !strings.Contains(f.log.String(), "tools held back while the shared store is away") {
		t.Errorf("%s, logged %s", why, &f.log)
	}
	other := tools("a: other")
	if names := never.Check(other, all).Names(); len(names) != 1 {
		t.Errorf("of a server that was never checked %q are held back", names)
	}
	if _, err := a.store.Records(); err == nil || !strings.Contains(err.Error(), "away") {
		t.Errorf("review: %v", err)
	}
	for what, err := range map[string]error{"accept": a.store.Update(func([]*Record) error { t.Error("called"); return nil }), "forget": func() error { _, err := a.store.Forget("fs"); return err }()} {
		if err == nil || !strings.Contains(err.Error(), "away") {
			t.Errorf("%s: %v", what, err)
		}
	}
	f.shared.Restart()
	fleettest.Until(t, "what is new passes, what has changed does not", func() bool {
		return slices.Equal(a.Check(next, all).Names(), []string{"b"})
	})
	fleettest.Until(t, "the other replica has the same pins", func() bool {
		why, _ := never.Check(other, all).Held("a")
		return strings.Contains(why, "has changed since it was pinned")
	})
}

// TestBadRecord: where the record in the store cannot be read nothing passes, until it is forgotten.
func TestBadRecord(t *testing.T) {
	f := newPlace(t)
	s := f.on(t.TempDir(), false)
	s.held("a: x")
	key := s.store.shelf.(*shared).key(s.name)
	for _, record := range []string{"", "{", `{"version":2,"server":"fs","tools":{}}`, "[]"} {
		f.shared.Client.HSet(t.Context(), key, "record", record, "revision", "r"+record)
		fresh, list := f.on(t.TempDir(), false), tools("a: x")
		why, held := fresh.Check(list, all).Held("a")
		if !held || !strings.Contains(why, "of the shared store is not in") {
			t.Errorf("%q: %s", record, why)
		}
		records, err := f.open(true).Records()
		if len(records) > 0 || err == nil {
			t.Errorf("%q: %v %v", record, records, err)
		}
		if n, err := f.open(false).Forget("fs"); n != 1 || err != nil {
			t.Errorf("%q: %d %v", record, n, err)
		}
		fleettest.Until(t, "it is pinned anew", func() bool { return len(fresh.Check(list, all).Names()) == 0 })
	}
}
