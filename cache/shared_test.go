package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
)

// noise is n bytes that do not compress.
func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// said is what an id answers, with what is known of its call.
func said(s *Store, agent string, id ID) string {
	_, err := s.Get(agent, id)
	var gone *GoneError
	var away *fleet.AwayError
	switch {
	case errors.As(err, &away) && away.Retry > 0:
		return "away"
	case errors.As(err, &gone):
		return string(gone.Reason) + " " + gone.Origin.Tool
	}
	return answer(s, agent, id)
}

func restarted(t *testing.T, server *fleettest.Server, stores ...*Store) {
	server.Restart()
	fleettest.Until(t, "the store is back, and has what it missed", func() bool {
		for _, s := range stores {
			x := s.index.(*shared)
			x.mu.Lock()
			n := len(x.pending)
			x.mu.Unlock()
			if x.fleet.Figures().Away || x.local.bytes() > 0 || n > 0 {
				return false
			}
		}
		return true
	})
}

// TestSharedAway: while the store is away every call answers at once, and when it is back, so
// do the ids of before and of meanwhile, at all replicas.
func TestSharedAway(t *testing.T) {
	w := newWorld(t, "redis", fleettest.Start(t, "--appendonly", "yes"))
	opts := Options{MaxEntriesPerAgent: 3, TTL: time.Hour}
	a, b := w.open(t, opts), w.open(t, opts)
	before, ended := put(t, a, "ann", "before"), put(t, a, "eve", "revoked")
	w.server.Kill()
	begun := time.Now()
	var during []ID
	for i := range 4 { // one more than ann may keep here
		during = append(during, put(t, b, "ann", fmt.Sprint(i)))
		w.sleep(10 * time.Second)
	}
	a.Forget("eve")
	for _, tt := range []struct {
		name string
		s    *Store
		id   ID
		want string
	}{
		{"what this replica has put before", a, before, "before"},
		{"what another has", b, before, "away"},
		{"what was put here meanwhile", b, during[3], "3"},
		{"and has made room", b, during[0], "evicted fs_read"},
		{"what was put elsewhere meanwhile", a, during[3], "away"},
		{"another agent's", a, put(t, b, "bob", "his"), "unknown"},
		{"nobody's", a, "aaaaaaaaaaaaaaaa", "unknown"},
	} {
		if got := said(tt.s, "ann", tt.id); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if v, err := a.Derived("ann", during[3], "x", func() (any, int64, error) { return 1, 1, nil }); v != 1 || err != nil {
		t.Errorf("an artefact of what is away: %v, %v", v, err)
	}
	if _, err := b.Derived("bob", before, "x", nil); err != ErrUnknown {
		t.Errorf("an artefact of another agent's: %v", err)
	}
	if list, all := b.List(9); all != 4 || len(list) != 4 {
		t.Errorf("lists %d: %+v", all, list)
	}
	if n := b.Stats(); n.Entries != 4 || n.Bytes == 0 {
		t.Errorf("%+v", n)
	}
	for _, s := range []*Store{a, b} {
		list, _ := s.List(9)
		for _, e := range list {
			if e.Agent == "" {
				t.Errorf("an agent has no name: %+v", e)
			}
		}
	}
	w.sleep(time.Hour - 35*time.Second)
	if got := said(a, "ann", before); got != "away" {
		t.Errorf("what the store had an hour ago: %q", got)
	}
	if took := time.Since(begun); took > 5*time.Second { // finding out takes at most two, once for each replica
		t.Errorf("it took %v", took)
	}
	restarted(t, w.server, a, b)
	for _, s := range []*Store{a, b} {
		for i, want := range []string{"evicted ", "1", "2", "3"} {
			if i == 0 && s == b {
				want = "evicted fs_read" // it was there that it made room
			}
			if got := said(s, "ann", during[i]); got != want {
				t.Errorf("when it is back, %d: %q, want %q", i, got, want)
			}
		}
		if got := said(s, "eve", ended); got != "evicted " {
			t.Errorf("what was forgotten meanwhile: %q", got)
		}
	}
	if list, all := a.List(9); all != 4 || len(list) != 4 || list[0].Agent != "bob" || list[3].Agent != "ann" {
		t.Errorf("lists %d: %+v", all, list)
	}
	if got := said(b, "ann", before); got != "expired fs_read" {
		t.Errorf("what nobody could read for an hour: %q", got)
	}
}

// TestSharedLost: a store that has lost its data gets from the replicas what they have of it.
func TestSharedLost(t *testing.T) {
	w := newWorld(t, "redis", nil)
	opts := Options{TTL: time.Hour, MaxEntriesPerAgent: 2}
	a, b := w.open(t, opts), w.open(t, opts)
	early, late := put(t, a, "ann", "early"), put(t, b, "ann", "late")
	w.sleep(time.Minute)
	w.server.Kill()
	if got := said(a, "ann", late); got != "away" {
		t.Fatalf("before: %q", got)
	}
	restarted(t, w.server, a, b)
	for _, s := range []*Store{a, b} {
		fleettest.Until(t, "the ids answer", func() bool { return said(s, "ann", early) == "early" && said(s, "ann", late) == "late" })
	}
	// What is there again has its time, and its place.
	w.sleep(time.Hour - time.Minute)
	put(t, a, "ann", "new")
	if got := said(b, "ann", early) + said(b, "ann", late); !strings.Contains(got, "evicted fs_read") {
		t.Errorf("one made room: %q", got)
	}
	if err := w.server.Client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	b.index.sweep()
	if got := said(a, "ann", put(t, a, "ann", "again")); got != "again" {
		t.Errorf("what was put: %q", got)
	}
}

// TestSharedAtStart: a store that is away when the replica starts is no reason not to.
func TestSharedAtStart(t *testing.T) {
	w := newWorld(t, "redis", nil)
	w.server.Kill()
	s := w.open(t, Options{})
	id := put(t, s, "ann", "early")
	if got := said(s, "ann", id); got != "early" {
		t.Errorf("%q", got)
	}
	restarted(t, w.server, s)
	if got := said(w.open(t, Options{}), "ann", id); got != "early" {
		t.Errorf("another replica: %q", got)
	}
}

// TestSharedRefuses: a store that is full is as one that is away, which the log says once.
func TestSharedRefuses(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, "redis", nil)
	s := w.open(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	first := put(t, s, "ann", "first")
	ctx := context.Background()
	if err := w.server.Client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	second := put(t, s, "ann", "second")
	third := put(t, s, "ann", "third")
	for id, want := range map[ID]string{first: "first", second: "second", third: "third"} {
		if got := said(s, "ann", id); got != want && got != "away" {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if said(s, "ann", third) != "third" || strings.Count(log.String(), "refuses") != 1 {
		t.Errorf("%q; log: %s", said(s, "ann", third), log.String())
	}
	if err := w.server.Client.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	s.index.sweep()
	if got := said(w.open(t, Options{}), "ann", third); got != "third" {
		t.Errorf("when there is room again: %q", got)
	}
	if err := w.server.Client.Set(ctx, s.index.(*shared).key+":agents", "not ours", 0).Err(); err != nil {
		t.Fatal(err)
	}
	fourth := put(t, s, "bob", "fourth")
	if got := said(s, "bob", fourth); got != "fourth" {
		t.Errorf("with a key of another type: %q", got)
	}
	w.server.Client.FlushAll(ctx)
}

// asked counts how often the store is asked in f.
func asked(s *Store, f func()) int64 {
	of := s.index.(*shared).fleet
	before := of.Figures().Ops
	f()
	return of.Figures().Ops - before
}

// TestSharedOps: how often the store is asked, and for how much.
func TestSharedOps(t *testing.T) {
	for range 3 { // a replica says every two seconds that it is there, which counts
		w := newWorld(t, "redis", nil)
		begun := time.Now()
		a, b := w.open(t, Options{}), w.open(t, Options{})
		for _, s := range []*Store{a, b} {
			s.index.(*shared).fresh = freshTime
		}
		var ids []ID
		var got []int64
		count := func(s *Store, f func()) { got = append(got, asked(s, f)) }
		for _, data := range [][]byte{[]byte("small"), noise(askOver + 1), noise(3 * partSize)} {
			count(a, func() {
				id, err := a.Put("ann", Origin{Tool: "t"}, data)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			})
			count(a, func() { a.Put("ann", Origin{Tool: "t"}, data) }) // again
			count(a, func() { a.Get("ann", ids[len(ids)-1]) })
			count(b, func() { b.Get("ann", ids[len(ids)-1]) })
			count(b, func() { b.Get("ann", ids[len(ids)-1]) })
			count(b, func() {
				for range 10 {
					b.Derived("ann", ids[len(ids)-1], "x", func() (any, int64, error) { return 1, 1, nil })
				}
			})
		}
		count(a, func() { a.Get("bob", ids[0]); a.Get("ann", "aaaaaaaaaaaaaaaa"); a.Get("ann", "") }) // never asked for
		w.sleep(freshTime)
		count(b, func() { b.Derived("ann", ids[0], "x", nil) })
		want := []int64{
			2, 3, 1, 2, 1, 0, // parts, index; again: and they are unlinked
			3, 1, 1, 2, 1, 0, // asked first, parts, index
			4, 1, 1, 3, 1, 0, // two requests for four parts
			0, 1,
		}
		if time.Since(begun) > 1500*time.Millisecond {
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got: %s", diff)
		}
		return
	}
}

// TestSharedFetchesOnce: many calls for a large entry hold it once, and what is near is within
// its bound.
func TestSharedFetchesOnce(t *testing.T) {
	w := newWorld(t, "redis", nil)
	opts := Options{MaxBytes: 10 << 20, MaxBytesPerAgent: 10 << 20}
	a, b := w.open(t, opts), w.open(t, opts)
	id, err := a.Put("ann", Origin{}, noise(6<<20))
	if err != nil {
		t.Fatal(err)
	}
	w.server.Client.ConfigResetStat(context.Background())
	var wg sync.WaitGroup
	got := make([][]byte, 20)
	for i := range got {
		wg.Go(func() {
			if e, err := b.Get("ann", id); err == nil {
				got[i] = e.Data
			}
		})
	}
	wg.Wait()
	for i := range got {
		if len(got[i]) != 6<<20 || &got[i][0] != &got[0][0] {
			t.Fatalf("call %d has %d bytes of its own", i, len(got[i]))
		}
	}
	info, err := w.server.Client.Info(context.Background(), "commandstats").Result()
	_, gets, _ := strings.Cut(info, "cmdstat_get:calls=")
	var n int
	if fmt.Sscan(strings.SplitN(gets, ",", 2)[0], &n); err != nil || n > 13+20*2 { // the script reads records
		t.Errorf("%d reads, %v", n, err)
	}
	if n := b.Stats().Near; n != 6<<20 {
		t.Errorf("%d bytes near", n)
	}
	if second, err := a.Put("bob", Origin{}, noise(4<<20-1)); err != nil || len(answer(b, "bob", second)) != 4<<20-1 || b.Stats().Near > 10<<20 {
		t.Errorf("%v, %d bytes near", err, b.Stats().Near)
	}
	if third, err := a.Put("bob", Origin{}, noise(4<<20)); err != nil || len(answer(b, "bob", third)) != 4<<20 || b.Stats().Near > 10<<20 {
		t.Errorf("%v, %d bytes near", err, b.Stats().Near)
	}
}

// TestSharedBroken: parts that are not there, or not what was put, are evicted for all
// replicas, and no others.
func TestSharedBroken(t *testing.T) {
	for name, damage := range map[string]func(ctx context.Context, w *world, parts []string) error{
		"missing": func(ctx context.Context, w *world, parts []string) error {
			return w.server.Client.Del(ctx, parts[1]).Err()
		},
		"changed": func(ctx context.Context, w *world, parts []string) error {
			return w.server.Client.SetRange(ctx, parts[1], 100, "!!").Err()
		},
		"longer": func(ctx context.Context, w *world, parts []string) error {
			return w.server.Client.Append(ctx, parts[2], "!").Err()
		},
		"another's": func(ctx context.Context, w *world, parts []string) error {
			return w.server.Client.Copy(ctx, parts[0], parts[1], 0, true).Err()
		},
		"empty": func(ctx context.Context, w *world, parts []string) error {
			return w.server.Client.Set(ctx, parts[0], "", time.Hour).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "redis", nil)
			a, b := w.open(t, Options{}), w.open(t, Options{})
			other := put(t, a, "ann", "other")
			others := keysOf(t, w.server.Client, a.index.(*shared).fleet.SpreadKey(sharedVersion, "*"))
			id, err := a.Put("ann", Origin{Tool: "t"}, noise(3*partSize-1000))
			if err != nil {
				t.Fatal(err)
			}
			parts := keysOf(t, w.server.Client, a.index.(*shared).fleet.SpreadKey(sharedVersion, "*"))
			parts = slices.DeleteFunc(parts, func(key string) bool { return slices.Contains(others, key) })
			slices.Sort(parts)
			if len(parts) != 3 {
				t.Fatalf("parts: %v", parts)
			}
			if err := damage(t.Context(), w, parts); err != nil {
				t.Fatal(err)
			}
			for _, s := range []*Store{b, a} {
				if got := said(s, "ann", id); got != "evicted t" {
					t.Errorf("%.50q", got)
				}
				if got := said(s, "ann", other); got != "other" {
					t.Errorf("another entry: %q", got)
				}
			}
			w.server.Client.Del(t.Context(), parts...)
			if again, err := b.Put("ann", Origin{Tool: "t"}, noise(3*partSize-1000)); err != nil || again != id || len(answer(a, "ann", id)) != 3*partSize-1000 {
				t.Errorf("put again: %s, %v", again, err)
			}
		})
	}
}

// TestSharedHostile: names, arguments and data that are long, or are what keys are made of.
func TestSharedHostile(t *testing.T) {
	w := newWorld(t, "redis", nil)
	a, b := w.open(t, Options{}), w.open(t, Options{})
	odd := "\x00 {}:*\xff\r\n K 1 1 x 1 1 1 - "
	for i, e := range []Entry{
		{Agent: odd, Origin: Origin{Server: odd, Tool: odd, Arguments: json.RawMessage(odd), ReadOnly: true, NoModel: true}, Data: []byte(odd)},
		{Agent: strings.Repeat(odd, 10_000), Origin: Origin{Server: strings.Repeat(odd, 10_000), Tool: strings.Repeat(odd, 10_000)}, Data: []byte{}},
		{Agent: "", Origin: Origin{Tool: "t", Arguments: noise(2 << 20)}, Data: make([]byte, 20<<20)},
		{Agent: "", Origin: Origin{Tool: "t", Arguments: json.RawMessage{}}, Data: noise(1)},
	} {
		id, err := a.Put(e.Agent, e.Origin, e.Data)
		if err != nil {
			t.Fatal(err)
		}
		w.sleep(time.Second)
		got, err := b.Get(e.Agent, id)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if got.ID != id || got.Agent != e.Agent || !bytes.Equal(got.Data, e.Data) || got.Origin.Server != e.Origin.Server || got.Origin.Tool != e.Origin.Tool ||
			!bytes.Equal(got.Origin.Arguments, e.Origin.Arguments) || got.Origin.ReadOnly != e.Origin.ReadOnly || (got.Origin.Arguments == nil) != (e.Origin.Arguments == nil) {
			t.Errorf("%d: %.200q of %.200q, %d bytes", i, got.Origin.Tool, got.Agent, len(got.Data))
		}
	}
	list, all := b.List(9)
	if all != 4 || len(list) != 4 || list[0].Bytes != 1 || list[1].Bytes != 20<<20 || list[3].Agent != odd {
		t.Errorf("%d are listed, the first has %d bytes", all, list[0].Bytes)
	}
	for _, key := range keysOf(t, w.server.Client, "*cache1*") {
		if n, err := w.server.Client.MemoryUsage(t.Context(), key).Result(); err != nil || n > 512<<10+1<<10 {
			t.Errorf("%.100s has %d bytes, %v", key, n, err)
		}
	}
}

// TestSharedLeavesNothing: when all has expired, or is forgotten, there is nothing of it in
// the store, and what is others' is still there.
func TestSharedLeavesNothing(t *testing.T) {
	w := newWorld(t, "redis", nil)
	ctx := context.Background()
	a, b := w.open(t, Options{TTL: time.Hour, MaxEntriesPerAgent: 3}), w.open(t, Options{TTL: time.Hour, MaxEntriesPerAgent: 3})
	f := a.index.(*shared).fleet
	foreign := []string{f.Key("cache2", "e", "x"), f.SpreadKey("cache2", "x", "0"), f.Key("sessions"), "{rlmproxy:other}:cache1:read"}
	for _, key := range foreign {
		if err := w.server.Client.Set(ctx, key, "others'", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (all []string) {
		for _, key := range keysOf(t, w.server.Client, "*") {
			if !slices.Contains(append(foreign, f.Key("replicas"), f.Key("secrets"), f.Key(sharedVersion, "life")), key) {
				all = append(all, key)
			}
		}
		return all
	}
	fill := func() {
		for i := range 5 {
			for _, agent := range []string{"ann", "bob"} {
				put(t, a, agent, fmt.Sprint(i, strings.Repeat("x", 1000*i)))
				put(t, b, agent, fmt.Sprint(i, " at b"))
			}
		}
	}
	for _, key := range foreign {
		defer w.server.Client.Del(ctx, key)
	}
	fill()
	if len(left()) < 20 {
		t.Fatalf("there is %v", left())
	}
	a.Forget("ann")
	b.Forget("bob")
	if all := left(); len(all) > 0 {
		t.Errorf("when all is forgotten: %v", all)
	}
	fill()
	w.sleep(time.Hour)
	b.index.sweep()
	if n := totals(a); n.entries != 0 || n.tombstones == 0 || len(keysOf(t, w.server.Client, f.SpreadKey(sharedVersion, "*"))) != 0 {
		t.Errorf("when all has expired: %+v, %v", n, left())
	}
	w.sleep(goneAge)
	a.index.sweep()
	if all := left(); len(all) > 0 {
		t.Errorf("a week later: %v", all)
	}
	for _, key := range foreign {
		if w.server.Client.Get(ctx, key).Val() != "others'" {
			t.Errorf("%s is gone", key)
		}
	}
}

// TestSharedKilled: a replica that ends before its entry is in the index leaves parts that
// expire; one whose request was sent twice has its entry.
func TestSharedKilled(t *testing.T) {
	w := newWorld(t, "redis", nil)
	s := w.open(t, Options{TTL: time.Hour})
	x := s.index.(*shared)
	e := &entering{agent: keyOf("ann"), id: newID(s.keys()[0], keyOf("ann"), Origin{}, []byte("data")), data: []byte("data"), size: 4}
	head := appendSized(nil, x.sealed(e.agent, e.id, e.origin))
	gen, n, err := x.upload(x.pack.pack(head, e.data))
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if got := said(s, "ann", e.id); got != "evicted " {
		t.Errorf("before it is in the index: %q", got)
	}
	left, err := w.server.Client.PTTL(t.Context(), x.parts(gen, n)[0]).Result()
	if err != nil || left <= time.Hour || left > 2*time.Hour {
		t.Errorf("parts of nobody expire in %v, %v", left, err)
	}
	for range 2 { // the connection broke, and the client has sent it again
		r, err := x.enter(e, "", gen, n, len(e.data), len(head)+len(e.data), 0)
		if err != nil || r.text(0) != gen {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	other := w.open(t, Options{TTL: time.Hour})
	if got := said(other, "ann", e.id); got != "data" {
		t.Errorf("%q", got)
	}
	if id := put(t, other, "ann", "x"); said(s, "ann", id) != "x" {
		t.Error("another entry is not there")
	}
	// The same result, put where it was not known to be there: its own parts go.
	if id, err := other.Put("ann", Origin{}, []byte("data")); err != nil || id != e.id {
		t.Fatal(id, err)
	}
	if parts := keysOf(t, w.server.Client, x.fleet.SpreadKey(sharedVersion, "*")); len(parts) != 2 {
		t.Errorf("%d parts of two entries", len(parts))
	}
}

// TestSharedStays: parts stay as long as their entry is read, and are told so now and then.
func TestSharedStays(t *testing.T) {
	w := newWorld(t, "redis", nil)
	s := w.open(t, Options{TTL: time.Hour})
	x := s.index.(*shared)
	id := put(t, s, "ann", "data")
	part := keysOf(t, w.server.Client, x.fleet.SpreadKey(sharedVersion, "*"))[0]
	record := x.key + ":e:" + keyOf("ann").named() + ":" + string(id)
	ctx := t.Context()
	w.server.Client.PExpire(ctx, part, time.Minute)
	if n := asked(s, func() { said(s, "ann", id) }); n > 2 || w.server.Client.PTTL(ctx, part).Val() > time.Minute {
		t.Errorf("told at once: asked %d times", n)
	}
	w.server.Client.PExpire(ctx, record, x.opts.TTL+stayOver-x.opts.TTL/usedEvery-time.Second) // as after a while
	said(s, "ann", id)
	if left := w.server.Client.PTTL(ctx, part).Val(); left < time.Hour {
		t.Errorf("the parts stay for %v", left)
	}
	if left := w.server.Client.PTTL(ctx, record).Val(); left < x.opts.TTL+stayOver-time.Minute {
		t.Errorf("the record stays for %v", left)
	}
	for _, key := range keysOf(t, w.server.Client, x.key+":*") {
		if left := w.server.Client.PTTL(ctx, key).Val(); left < x.opts.TTL+stayOver-time.Minute {
			t.Errorf("%s stays for %v", key, left)
		}
	}
}

// TestSharedTerms: what was kept on other terms is not answered, and no more what another
// replica keeps on them.
func TestSharedTerms(t *testing.T) {
	w := newWorld(t, "redis", nil)
	open := func(terms string) *Store { return w.open(t, Options{TTL: time.Hour, Terms: terms}) }
	plain := open("")
	id := put(t, plain, "a", "the salary is 1")
	strict := open("salary")
	if list, _ := strict.List(9); len(list) != 0 {
		t.Errorf("lists %+v", list)
	}
	for _, s := range []*Store{strict, plain} { // by now for both
		if got := said(s, "a", id); got != "expired fs_read" {
			t.Errorf("on terms %q: %q", s.Terms(), got)
		}
	}
	id = put(t, strict, "a", "*** is 4")
	before := said(strict, "a", id)
	strict.SetTerms("salary, iban")
	if now := said(strict, "a", id); before != "*** is 4" || now != "expired fs_read" {
		t.Errorf("answers %q, and on other terms %q", before, now)
	}
	old := Origin{Tool: "t", Terms: "salary"}
	late, err := strict.Put("a", old, []byte("the iban is 5"))
	for _, s := range []*Store{strict, open("salary, iban"), open("salary")} {
		if got := said(s, "a", late); err != nil || got != "expired t" {
			t.Errorf("a result on other terms: %v, terms %q answer %q", err, s.Terms(), got)
		}
	}
	_, err = strict.Put("a", Origin{Tool: "t", Terms: strict.Terms()}, []byte("plain"))
	if id, again := strict.Put("a", old, []byte("plain")); err != nil || again != nil || said(strict, "a", id) != "plain" {
		t.Errorf("a result that is the same on both terms: %v, %v, answers %q", err, again, said(strict, "a", id))
	}
	w.server.Kill()
	id = put(t, strict, "a", "kept here")
	strict.SetTerms("all")
	if got := said(strict, "a", id); got != "expired fs_read" {
		t.Errorf("kept while the store was away: %q", got)
	}
	w.server.Restart()
}

// TestSharedRace: two replicas put, read, forget and sweep with small quotas; an id answers at
// both with its own data, or as gone, and no other agent's does.
func TestSharedRace(t *testing.T) {
	w := newWorld(t, "redis", nil)
	var log bytes.Buffer
	opts := Options{MaxEntriesPerAgent: 8, MaxBytesPerAgent: 4000, MaxBytes: 20_000, MaxAgents: 6, DerivedBytes: 500,
		Logger: slog.New(slog.NewTextHandler(&log, nil))}
	stores := []*Store{w.open(t, opts), w.open(t, opts)}
	type issue struct {
		agent, text string
		id          ID
	}
	var mu sync.Mutex
	var issued []issue
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for i := range 300 {
				s, agent := stores[r.IntN(2)], fmt.Sprint("agent", r.IntN(8))
				switch n := r.IntN(20); {
				case n < 6:
					text := fmt.Sprintf("%s:%d:%s", agent, r.IntN(30), strings.Repeat("x", r.IntN(1000)))
					id, err := s.Put(agent, Origin{}, []byte(text))
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					issued = append(issued, issue{agent, text, id})
					mu.Unlock()
				case n == 6 && i%10 == 0:
					s.Forget(agent)
				case n == 7:
					s.index.sweep()
				default:
					mu.Lock()
					if len(issued) == 0 {
						mu.Unlock()
						continue
					}
					it := issued[max(0, len(issued)-1-r.IntN(20))]
					mu.Unlock()
					if got := answer(s, it.agent, it.id); got != it.text && got != "evicted" {
						t.Errorf("%s: %.40q, want %.40q", it.id, got, it.text)
					}
					if got := answer(s, it.agent+"!", it.id); got != "unknown" {
						t.Errorf("another agent: %q", got)
					}
					v, err := s.Derived(it.agent, it.id, "len", func() (any, int64, error) { return len(it.text), 40, nil })
					if err == nil && v != len(it.text) || err != nil && !errors.Is(err, ErrEvicted) {
						t.Errorf("derived: %v, %v", v, err)
					}
				}
			}
		})
	}
	wg.Wait()
	if log.Len() > 0 {
		t.Error(log.String())
	}
	for _, it := range issued {
		if a, b := said(stores[0], it.agent, it.id), said(stores[1], it.agent, it.id); a != b {
			t.Errorf("%s: %.40q at one, %.40q at the other", it.id, a, b)
		}
	}
}

// TestSharedClose: no goroutine is left, also where the store was away.
func TestSharedClose(t *testing.T) {
	server := fleettest.Start(t)
	open := func() (*fleet.Store, *Store) {
		f, err := fleet.Open(fleet.Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{Fleet: f})
		if err != nil {
			t.Fatal(err)
		}
		return f, s
	}
	f, s := open() // of which the libraries keep some
	s.Close()
	f.Close()
	before := runtime.NumGoroutine()
	for _, away := range []bool{false, true} {
		f, s := open()
		put(t, s, "ann", "one")
		if away {
			server.Kill()
			put(t, s, "ann", "two")
		}
		s.Close()
		if _, err := s.Get("ann", put0(s)); !errors.Is(err, ErrClosed) {
			t.Errorf("Get: %v", err)
		}
		if _, err := s.Put("ann", Origin{}, nil); err != ErrClosed {
			t.Errorf("Put: %v", err)
		}
		s.Forget("ann")
		s.List(1)
		f.Close()
	}
	fleettest.Until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

// put0 is an id that ann could have been given.
func put0(s *Store) ID { return newID(s.keys()[0], keyOf("ann"), Origin{}, nil) }

// TestOriginWritten: an origin is read as it was written, whatever is behind it, and what was
// cut or changed is no other one.
func TestOriginWritten(t *testing.T) {
	w := newWorld(t, "redis", nil)
	x := w.open(t, Options{}).index.(*shared)
	agent, id := keyOf("ann"), ID("aaaaaaaaaaaaaaaa")
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 0, 300)
		o := Origin{Server: string(text.Draw(rt, "server")), Tool: string(text.Draw(rt, "tool")), ReadOnly: rapid.Bool().Draw(rt, "readOnly"), NoModel: rapid.Bool().Draw(rt, "noModel")}
		if rapid.Bool().Draw(rt, "hasArguments") {
			o.Arguments = append(json.RawMessage{}, text.Draw(rt, "arguments")...)
		}
		behind := text.Draw(rt, "behind")
		sealed := x.sealed(agent, id, o)
		got, rest, err := x.unsealed(agent, id, append(slices.Clone(sealed), behind...))
		if diff := cmp.Diff(o, got); err != nil || diff != "" || !bytes.Equal(rest, behind) {
			rt.Fatalf("%v: %s", err, diff)
		}
		at := rapid.IntRange(0, len(sealed)-1).Draw(rt, "at")
		changed := slices.Clone(sealed)
		changed[at] ^= byte(1 << rapid.IntRange(0, 7).Draw(rt, "bit"))
		for what, b := range map[string][]byte{"cut": sealed[:at], "changed": changed} {
			if got, _, err := x.unsealed(agent, id, b); err == nil {
				rt.Fatalf("%s at %d: %+v", what, at, got)
			}
		}
		if _, _, err := x.unsealed(agent, "bbbbbbbbbbbbbbbb", sealed); err == nil {
			rt.Fatal("it is another id's")
		}
		if _, _, err := x.unsealed(keyOf("bob"), id, sealed); err == nil {
			rt.Fatal("it is another agent's")
		}
	})
}

// FuzzReadOrigin reads what anybody could have put there.
func FuzzReadOrigin(f *testing.F) {
	f.Add(appendOrigin(nil, Origin{Server: "s", Tool: "t", Arguments: json.RawMessage("{}")}))
	f.Add([]byte{2, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, rest, err := readOrigin(b)
		if err != nil {
			return
		}
		again, none, err := readOrigin(appendOrigin(nil, o))
		if diff := cmp.Diff(o, again); err != nil || len(none) > 0 || diff != "" || len(rest) > len(b) {
			t.Errorf("%v %v %s", err, none, diff)
		}
	})
}

// TestSharedMakesRoom: an entry for which many others go does not keep the store from
// answering others meanwhile: what is looked at does not grow with each of them.
func TestSharedMakesRoom(t *testing.T) {
	server := fleettest.Start(t)
	w := newWorld(t, "redis", server)
	const n, size = 5000, 10_000
	s := w.open(t, Options{MaxEntriesPerAgent: 500, MaxBytes: n * size, MaxBytesPerAgent: n * size, TTL: time.Hour})
	x := s.index.(*shared)
	put := func(agent string, id, size int) reply {
		t.Helper()
		o := x.opts
		r, err := x.again("put", "", keyOf(agent).named(), fmt.Sprintf("id%d", id), agent, "GEN", 1, size, size, size, "o", 0, o.MaxEntriesPerAgent, o.MaxBytesPerAgent, o.MaxBytes, o.MaxAgents)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for i := range n {
		put(fmt.Sprint("agent ", i/500), i, size)
	}
	w.sleep(time.Minute)
	server.Client.ConfigResetStat(t.Context())
	put("another", n, n/5*size)
	stats := server.Client.Info(t.Context(), "commandstats").Val()
	_, text, _ := strings.Cut(stats, "cmdstat_zrange:calls=")
	var calls int
	if _, err := fmt.Sscanf(text, "%d,", &calls); err != nil || calls > 3000 {
		t.Errorf("%d times the store was asked for entries, of which 1000 had to go: %v", calls, err)
	}
	if r, err := x.do("totals", ""); err != nil || r.number(0) != n-n/5+1 {
		t.Errorf("%d entries are left, %v", r.number(0), err)
	}
	server.Client.FlushDB(t.Context()) // no entry has parts
}
