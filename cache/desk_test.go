package cache

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// openDesk returns a desk at s that is closed with the test.
func openDesk(tb testing.TB, s *Store, opts Options) *Desk {
	tb.Helper()
	d, err := NewDesk(s, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { d.Close() })
	return d
}

// TestList: what came last comes first, and to be listed is no read.
func TestList(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{TTL: time.Minute})
		long := strings.Repeat("x", maxName+1)
		for i, agent := range []string{"ann", "bob", long} {
			put(t, s, agent, fmt.Sprint("text ", i))
			w.sleep(time.Second)
		}
		put(t, s, "ann", "text 0") // again
		list, all := s.List(2)
		if all != 3 || len(list) != 2 || list[0].Agent != "ann" || list[1].Agent != "" || list[0].Bytes != 6 || list[0].Origin.Tool != "fs_read" {
			t.Errorf("%d: %+v", all, list)
		}
		if now := w.now(); !list[0].Kept.Equal(now) || !list[0].Ends.Equal(now.Add(time.Minute)) || !list[1].Ends.Equal(now.Add(59*time.Second)) {
			t.Errorf("%+v", list)
		}
		before := s.Stats()
		w.sleep(59 * time.Second)
		if list, all := s.List(9); all != 1 || len(list) != 1 {
			t.Errorf("before they end: %d %+v", all, list)
		}
		w.sleep(time.Second)
		if list, all := s.List(9); all != 0 || list != nil {
			t.Errorf("a minute after they came: %d %+v", all, list)
		}
		if after := s.Stats(); after.Hits != before.Hits {
			t.Errorf("%d reads, %d before", after.Hits, before.Hits)
		}
	})
}

// TestDesk: whoever looks sees what agents keep, and nothing stays or goes for it.
func TestDesk(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{TTL: time.Minute, MaxEntriesPerAgent: 2})
		d := openDesk(t, s, Options{})
		id := put(t, s, "ann", "first")
		list, _ := s.List(9)
		ann := list[0].Shelf
		w.sleep(30 * time.Second)
		if e, err := d.Get(ann, id); err != nil || string(e.Data) != "first" || e.Agent != ann {
			t.Errorf("%+v %v", e, err)
		}
		built := 0
		build := func() (any, int64, error) { built++; return built, 1, nil }
		for range 2 {
			if v, err := d.Derived(ann, id, "tree", build); v != 1 || err != nil {
				t.Errorf("%v %v", v, err)
			}
		}
		put(t, s, "ann", "second")
		var made ID
		for i := range 3 { // more than ann may keep
			var err error
			if made, err = d.Put(ann, Origin{Tool: "proxy_filter"}, []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.Get("ann", made); err == nil || !errors.Is(err, ErrEvicted) { // an id of hers, with nothing there
			t.Errorf("ann reads what was made at the desk: %v %v", got, err)
		}
		if e, err := d.Get(ann, made); err != nil || string(e.Data) != "\x02" {
			t.Errorf("%v %v", e, err)
		}
		if v, err := d.Derived(ann, made, "tree", build); v != 2 || err != nil {
			t.Errorf("%v %v", v, err)
		}
		if n := s.Stats(); n.Entries != 2 || n.Hits != 0 || n.Evicted != 0 {
			t.Errorf("%+v", n)
		}
		w.sleep(30 * time.Second)
		if _, err := d.Get(ann, id); !errors.Is(err, ErrExpired) {
			t.Errorf("what was looked at ends with: %v", err)
		}
	})
}

// TestDeskOthers: an id answers on its own shelf only, and a name of nobody's on none.
func TestDeskOthers(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{})
		d := openDesk(t, s, Options{MaxBytesPerAgent: 1 << 10})
		id := put(t, s, "ann", "hers")
		put(t, s, "bob", "his")
		for _, shelf := range []string{keyOf("bob").hex(), keyOf("ann").hex()[1:], keyOf("ann").hex() + "0", strings.Repeat("é", 32), "ann", ""} {
			if e, err := d.Get(shelf, id); !errors.Is(err, ErrUnknown) {
				t.Errorf("%q: %v %v", shelf, e, err)
			}
			if _, err := d.Derived(shelf, id, "x", nil); !errors.Is(err, ErrUnknown) {
				t.Errorf("%q: %v", shelf, err)
			}
		}
		if _, err := d.Put("ann", Origin{}, nil); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		if _, err := d.Put(keyOf("ann").hex(), Origin{}, make([]byte, 2<<10)); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	})
}

// TestDeskTerms: what was made before more was hidden goes with what it was made of.
func TestDeskTerms(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{})
		d := openDesk(t, s, Options{})
		put(t, s, "ann", "secret")
		list, _ := s.List(1)
		shelf := list[0].Shelf
		before := d.Terms()
		made, err := d.Put(shelf, Origin{Tool: "proxy_filter"}, []byte("secret, too"))
		if err != nil {
			t.Fatal(err)
		}
		s.SetTerms("more is hidden")
		late, err := d.Put(shelf, Origin{Tool: "proxy_filter", Terms: "those of before" + before}, []byte("secret, late"))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []ID{made, late, list[0].ID} {
			if e, err := d.Get(shelf, id); !gone(err) {
				t.Errorf("%+v %v", e, err)
			}
		}
	})
}

// TestDeskDir: what only the folder has is read from there, and stays as it was.
func TestDeskDir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := Options{Dir: Dir{Path: filepath.Join(t.TempDir(), "d"), Config: "c"}, TTL: time.Hour}
		id := put(t, open(t, opts), "ann", "kept")
		time.Sleep(time.Minute)
		s := open(t, opts)
		d := openDesk(t, s, Options{})
		list, all := s.List(9)
		if all != 1 || list[0].ID != id || list[0].Agent != "" || list[0].Bytes != 4 {
			t.Fatalf("%d %+v", all, list)
		}
		ends := list[0].Ends
		if e, err := d.Get(list[0].Shelf, id); err != nil || string(e.Data) != "kept" {
			t.Errorf("%v %v", e, err)
		}
		if list, _ = s.List(9); !list[0].Ends.Equal(ends) {
			t.Errorf("ends %v, was to end %v", list[0].Ends, ends)
		}
		answer(s, "ann", id)
		if list, _ = s.List(9); list[0].Agent != "ann" {
			t.Errorf("%+v", list)
		}
	})
}

// BenchmarkList lists as many results as agents may keep, each call.
func BenchmarkList(b *testing.B) {
	s := benchStore(b)
	for a := range 1000 {
		for i := range 20 {
			put(b, s, fmt.Sprint("agent ", a), fmt.Sprint(i))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if list, all := s.List(200); len(list) != 200 || all != 20_000 {
			b.Fatal(all)
		}
	}
}
