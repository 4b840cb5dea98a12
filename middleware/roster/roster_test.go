package roster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
)

const id = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// TestRecord: what one replica writes of a session, another reads, until it is over for all.
func TestRecord(t *testing.T) {
	server := fleettest.Start(t)
	open := func() *Roster {
		s, err := fleet.Open(fleet.Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return New(s, time.Minute)
	}
	a, b, k := open(), open(), KeyOf(id)
	is := func(what string, want State) func(State, error) {
		return func(got State, err error) {
			t.Helper()
			if got != want || err != nil {
				t.Errorf("%s: %d %v, want %d", what, got, err, want)
			}
		}
	}
	find := func(want *Record) {
		t.Helper()
		got, err := b.Find(t.Context(), k)
		if diff := cmp.Diff(want, got, cmpopts.SortSlices(strings.Compare)); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	find(nil)
	is("nothing is changed of what is not there", Missing)(a.SetLevel(t.Context(), k, "error"))
	find(nil)
	rec := &Record{Subject: "token:alice", Handshake: json.RawMessage(`{"capabilities":{ },"n":1.0}`), Level: "info", Subscriptions: []string{"a:b", "\x00é"}, Listener: "x"}
	is("save", Kept)(a.Save(t.Context(), k, *rec, true))
	find(rec)
	is("level", Kept)(a.SetLevel(t.Context(), k, "error"))
	is("subscribe", Kept)(b.Subscribe(t.Context(), k, "c"))
	is("once more", Kept)(b.Subscribe(t.Context(), k, "c"))
	is("unsubscribe", Kept)(a.Unsubscribe(t.Context(), k, "a:b"))
	is("what is not there", Kept)(a.Unsubscribe(t.Context(), k, "a:b"))
	is("listen", Kept)(a.Listen(t.Context(), k))
	find(&Record{rec.Subject, rec.Handshake, "error", []string{"\x00é", "c"}, a.store.Replica()})
	key := a.key(k)
	if n := server.Client.HGet(t.Context(), key, fieldBytes).Val(); n != fmt.Sprint(len(fieldToken+a.store.Replica())+len(fieldWatch+"\x00é")+len(fieldWatch+"c")) {
		t.Errorf("%s bytes are counted", n)
	}
	if ttl := server.Client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > time.Minute {
		t.Errorf("it lasts %v", ttl)
	}
	server.Client.PExpire(t.Context(), key, time.Second)
	is("touch", Kept)(b.Touch(t.Context(), k))
	if ttl := server.Client.PTTL(t.Context(), key).Val(); ttl <= time.Second {
		t.Errorf("after it was touched it lasts %v", ttl)
	}

	is("a token at another replica", Kept)(b.Show(t.Context(), k))
	is("one token of two", Kept)(a.Revoke(t.Context(), k))
	is("the last", Last)(b.Revoke(t.Context(), k))
	if first, err := a.End(t.Context(), k); err != nil || !first {
		t.Errorf("the end: %v %v", first, err)
	}
	if first, err := b.End(t.Context(), k); err != nil || first {
		t.Errorf("the end once more: %v %v", first, err)
	}
	find(nil)
	is("save after the end", Ended)(b.Save(t.Context(), k, *rec, false))
	is("touch after the end", Ended)(a.Touch(t.Context(), k))
	find(nil)
}

// TestFull: a record has bounds, whichever way it comes to be long.
func TestFull(t *testing.T) {
	server := fleettest.Start(t)
	s, err := fleet.Open(fleet.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r, k := New(s, time.Minute), KeyOf(id)
	for name, uri := range map[string]func(i int) string{
		"many": func(i int) string { return fmt.Sprint("u", i) },
		"long": func(i int) string { return fmt.Sprint(i, strings.Repeat("x", 16<<10)) },
	} {
		server.Client.Del(t.Context(), r.key(k))
		rec := Record{Handshake: json.RawMessage("{}")}
		if _, err := r.Save(t.Context(), k, rec, false); err != nil {
			t.Fatal(err)
		}
		state := Kept
		for i := 0; i < 2*maxFields && state == Kept; i++ {
			rec.Subscriptions = append(rec.Subscriptions, uri(i))
			if state, err = r.Subscribe(t.Context(), k, uri(i)); err != nil {
				t.Fatal(err)
			}
		}
		if state != Full {
			t.Errorf("%s: it is never full", name)
		}
		for i := range 2 * maxFields { // as a session may have them when the store has lost its record
			rec.Subscriptions = append(rec.Subscriptions, uri(i))
		}
		server.Client.Del(t.Context(), r.key(k))
		if state, err := r.Save(t.Context(), k, rec, true); state != Kept || err != nil {
			t.Errorf("%s: saved as a whole: %d %v", name, state, err)
		}
		if n := server.Client.MemoryUsage(t.Context(), r.key(k)).Val(); n > 2*maxBytes {
			t.Errorf("%s: it takes %d bytes", name, n)
		}
		if n := server.Client.HLen(t.Context(), r.key(k)).Val(); n > maxFields {
			t.Errorf("%s: it has %d members", name, n)
		}
	}
}

// TestMany: the records of one subject have a bound together. Those used longest ago go first,
// and others' stay.
func TestMany(t *testing.T) {
	server := fleettest.Start(t)
	s, err := fleet.Open(fleet.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r := New(s, time.Minute)
	r.most = 10 * (1000 + 2)
	key := func(i int) Key { return KeyOf(strings.Repeat(string(rune('A'+i)), 26)) }
	save := func(i int, subject string) {
		t.Helper()
		if state, err := r.Save(t.Context(), key(i), Record{Subject: subject, Handshake: json.RawMessage("{}")}, false); state != Kept || err != nil {
			t.Fatal(state, err)
		}
		// The store's clock tells them apart, by milliseconds.
		for now := server.Client.Time(t.Context()).Val(); server.Client.Time(t.Context()).Val().Sub(now) < 2*time.Millisecond; {
		}
	}
	there := func() (all string) {
		for i := range 26 {
			if rec, err := r.Find(t.Context(), key(i)); err != nil {
				t.Fatal(err)
			} else if rec != nil {
				all += string(rune('A' + i))
			}
		}
		return all
	}
	save(25, "bob")
	for i := range 10 {
		save(i, "alice")
	}
	if _, err := r.Touch(t.Context(), key(0)); err != nil {
		t.Fatal(err)
	}
	save(10, "alice")
	save(11, "alice")
	if got := there(); got != "ADEFGHIJKLZ" {
		t.Errorf("there are %s", got)
	}
	if _, err := r.End(t.Context(), key(0)); err != nil {
		t.Fatal(err)
	}
	save(12, "alice")
	if got := there(); got != "EFGHIJKLMZ" { // what is left of the one counts, too
		t.Errorf("after one has ended there are %s", got)
	}
	// A long one takes the place of several.
	if _, err := r.Subscribe(t.Context(), key(12), strings.Repeat("x", 4000)); err != nil {
		t.Fatal(err)
	}
	if got := there(); got != "MZ" {
		t.Errorf("beside a long one there are %s", got)
	}
	before := len(server.Client.Keys(t.Context(), s.Key(format, "[0-9a-f]*")).Val())
	for i := 13; i < 25; i++ {
		save(i, "carol")
		if _, err := r.End(t.Context(), key(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(server.Client.Keys(t.Context(), s.Key(format, "[0-9a-f]*")).Val()); n != before+10 {
		t.Errorf("%d are left of sessions that have ended", n)
	}
}

// TestKeyOf: only what is an id of ours has a key, which does not show it.
func TestKeyOf(t *testing.T) {
	for _, not := range []string{"", "short", strings.ToLower(id), id + "1", id + ":", strings.Repeat("A", 65), "ÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄÄ"} {
		if k := KeyOf(not); k != "" {
			t.Errorf("%q has the key %s", not, k)
		}
	}
	if k := KeyOf(id); len(k) != 64 || strings.Contains(string(k), id) {
		t.Errorf("the key %s", k)
	}
}
