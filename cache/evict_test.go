package cache

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEvict(t *testing.T) {
	const tool = int64(len("fs_read"))
	for _, tt := range []struct {
		name string
		opts Options
		puts string // one a second: agent, times how many bytes
		want string // what is left
	}{
		{"room for all", Options{}, "a1 a2 a3", "a1 a2 a3"},
		{"entries, equal sizes: the oldest", Options{MaxEntriesPerAgent: 2}, "a5 a6 a7", "a6 a7"},
		{"entries: the largest of idle times size", Options{MaxEntriesPerAgent: 2}, "a1 a90 a2", "a1 a2"},
		{"entries: another agent's do not count", Options{MaxEntriesPerAgent: 2}, "a1 b1 a2 b2", "a1 a2 b1 b2"},
		{"bytes: as many as it takes", Options{MaxBytesPerAgent: 100}, "a20 a21 a80", "a80"},
		{"bytes: just fits", Options{MaxBytesPerAgent: 100 + 2*tool}, "a60 a40", "a40 a60"},
		{"ceiling: over all agents", Options{MaxBytes: 100}, "a30 b20 c40", "b20 c40"},
		{"ceiling: own entries first when they are over the quota", Options{MaxBytes: 100, MaxEntriesPerAgent: 1}, "b30 a20 a30", "a30 b30"},
		{"agents: the longest idle", Options{MaxAgents: 2}, "a1 b1 a2 c1", "a1 a2 c1"},
		{"agents: one", Options{MaxAgents: 1}, "a1 a2 b1", "b1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			forms(t, func(t *testing.T, w *world) {
				s := w.open(t, tt.opts)
				ids := map[string]ID{}
				order := strings.Fields(tt.puts)
				for _, p := range order {
					var n int
					fmt.Sscan(p[1:], &n)
					ids[p] = put(t, s, p[:1], strings.Repeat("x", n))
					w.sleep(time.Second)
				}
				for p, id := range ids {
					kept := strings.Contains(" "+tt.want+" ", " "+p+" ")
					if got := answer(s, p[:1], id); kept == (got == "evicted") {
						t.Errorf("%s: %.20q, kept should be %t", p, got, kept)
					}
				}
				if got := totals(s).entries; got != len(strings.Fields(tt.want)) {
					t.Errorf("%d entries are left", got)
				}
			})
		})
	}
}

func TestTooLarge(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		for _, tt := range []struct {
			opts Options
			size int
			want bool
		}{
			{Options{MaxBytesPerAgent: 100}, 100, false},
			{Options{MaxBytesPerAgent: 100}, 101, true},
			{Options{MaxBytes: 100}, 100, false},
			{Options{MaxBytes: 100}, 101, true},
		} {
			s := w.another(t).open(t, tt.opts)
			id := put(t, s, "a", "one")
			_, err := s.Put("b", Origin{}, make([]byte, tt.size))
			if errors.Is(err, ErrTooLarge) != tt.want {
				t.Errorf("%+v: %d bytes: %v", tt.opts, tt.size, err)
			}
			if tt.want && answer(s, "a", id) != "one" {
				t.Errorf("%d bytes: refused, and evicted others", tt.size)
			}
		}
	})
}

// What nobody needs any more goes before what somebody does.
func TestExpiredGoFirst(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{MaxEntriesPerAgent: 2, TTL: time.Minute})
		small := put(t, s, "a", "s")
		w.sleep(50 * time.Second)
		large := put(t, s, "a", strings.Repeat("l", 10_000))
		w.sleep(11 * time.Second)
		put(t, s, "a", "new")
		if got := answer(s, "a", small); got != "expired" {
			t.Errorf("small: %s", got)
		}
		if got := answer(s, "a", large); len(got) != 10_000 {
			t.Errorf("large: %s", got)
		}
	})
}

func TestTombstonesAreBounded(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{MaxEntriesPerAgent: 1, MaxTombstones: 15})
		var ids []ID
		for i := range 30 {
			ids = append(ids, put(t, s, "a", fmt.Sprint(i)))
		}
		if n := totals(s).tombstones; n != 10 {
			t.Errorf("one agent has %d", n)
		}
		for i := range 30 {
			put(t, s, "b", fmt.Sprint(i))
		}
		if n := totals(s).tombstones; n != 15 {
			t.Errorf("all agents have %d", n)
		}
		for i, id := range ids[:29] {
			if got := answer(s, "a", id); got != "evicted" {
				t.Errorf("entry %d: %s", i, got)
			}
		}
	})
}

// One large entry may displace all there is.
func TestLargeDisplacesMany(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{MaxBytesPerAgent: 1 << 20, MaxBytes: 1 << 20})
		for i := range 500 {
			for range 2 {
				put(t, s, fmt.Sprint(i), strings.Repeat("x", 100+i))
			}
		}
		put(t, s, "large", strings.Repeat("x", 1<<20-7))
		if got := totals(s); got.entries != 1 || got.tombstones != 500 {
			t.Errorf("%+v", got)
		}
	})
}

// TestVictims: with hundreds of entries of all sizes, in memory and in Redis the same ones go.
func TestVictims(t *testing.T) {
	for _, entries := range []int{25, 100} { // with 25, an agent's quota is reached first, with 100 the ceiling
		t.Run(fmt.Sprint(entries), func(t *testing.T) { testVictims(t, entries) })
	}
}

func testVictims(t *testing.T, entries int) {
	opts := Options{MaxEntriesPerAgent: entries, MaxBytesPerAgent: 60_000, MaxBytes: 80_000, MaxAgents: 5, TTL: time.Hour}
	worlds := []*world{newWorld(t, "memory", nil), newWorld(t, "redis", nil)}
	worlds[1].time = worlds[0].time
	var stores []*Store
	for _, w := range worlds {
		stores = append(stores, w.open(t, opts))
	}
	r := rand.New(rand.NewPCG(1, 2))
	kept := func(s *Store) (all []string) {
		list, n := s.List(1000)
		for _, e := range list {
			all = append(all, fmt.Sprint(e.Agent, e.Bytes, e.Kept.UnixMicro(), e.Ends.UnixMicro()))
		}
		if slices.Sort(all); n != len(all) {
			t.Fatalf("%d are listed of %d", len(all), n)
		}
		return all
	}
	var ids [2][]ID
	for i := range 1500 {
		agent, size := fmt.Sprint(r.IntN(5)), int(math.Exp2(r.Float64()*12))
		switch r.IntN(200) {
		case 0: // takes the place of many
			size = 50_000
		default:
			if i/50%3 == 0 { // many are alike
				size = 400 + size%3
			}
		}
		var again int
		if i > 0 {
			again = r.IntN(i)
		}
		d := time.Duration(r.IntN(20_000)) * time.Millisecond * time.Duration(r.IntN(6)/5)
		for n, s := range stores {
			ids[n] = append(ids[n], put(t, s, agent, fmt.Sprintf("%0*d", size, i)))
			for a := range 5 {
				s.Get(fmt.Sprint(a), ids[n][again])
			}
			worlds[n].sleep(d)
		}
		if i%50 != 49 {
			continue
		}
		if diff := cmp.Diff(kept(stores[0]), kept(stores[1])); diff != "" {
			t.Fatalf("after %d: memory -, Redis +: %s", i+1, diff)
		}
	}
}
