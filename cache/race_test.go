package cache

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Many goroutines, small quotas, and ristretto too small, just right or
// ample: an id answers with its own data or as gone, whatever ristretto does
// with the bytes meanwhile.
func TestConcurrent(t *testing.T) {
	for _, tier := range []int64{1, 2000, 10_000, 1 << 20} {
		t.Run(fmt.Sprint("tier=", tier), func(t *testing.T) {
			var log bytes.Buffer
			s := open(t, Options{
				MaxEntriesPerAgent: 8, MaxBytesPerAgent: 4000, MaxBytes: 20_000, MaxAgents: 6, DerivedBytes: 500,
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			}, tier)
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() { hammer(t, s, uint64(g)) })
			}
			wg.Wait()
			if log.Len() > 0 {
				t.Error(log.String())
			}
			for g := range 8 {
				s.Forget(fmt.Sprint("agent", g))
			}
			s.bytes.Wait()
			s.derived.Wait()
			left := s.bytes.MaxCost() - s.bytes.RemainingCost()
			derived := s.derived.MaxCost() - s.derived.RemainingCost()
			if left != 0 || derived != 0 {
				t.Errorf("ristretto still holds %d bytes, and %d derived", left, derived)
			}
		})
	}
}

func hammer(t *testing.T, s *Store, seed uint64) {
	type issue struct {
		agent, text string
		id          ID
	}
	r := rand.New(rand.NewPCG(seed, 0))
	var issued []issue
	for i := range 600 {
		agent := fmt.Sprint("agent", r.IntN(8)) // shared between goroutines
		switch r.IntN(10) {
		case 0, 1, 2:
			text := fmt.Sprintf("%s:%d:%s", agent, r.IntN(30), strings.Repeat("x", r.IntN(1000)))
			id, err := s.Put(agent, Origin{}, []byte(text))
			if err != nil {
				t.Error(err)
			}
			issued = append(issued, issue{agent, text, id})
		case 3:
			if i%20 == 0 {
				s.Forget(agent)
			}
		default:
			if len(issued) == 0 {
				continue
			}
			it := issued[max(0, len(issued)-1-r.IntN(10))]
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
}

// Close may come at any time.
func TestCloseWhileInUse(t *testing.T) {
	for i := range 50 {
		s, err := newStore(open(t, Options{MaxBytes: 5000}, 0).opts, 3000)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for n := 0; ; n++ {
					id, err := s.Put(fmt.Sprint(g), Origin{}, fmt.Append(nil, n, strings.Repeat("x", 500)))
					if err == ErrClosed {
						return
					}
					s.Get(fmt.Sprint(g), id)
					s.Derived(fmt.Sprint(g), id, "k", func() (any, int64, error) { return 1, 1, nil })
				}
			})
		}
		// Another moment each time, with no clock involved.
		for n := range 5 * i {
			put(t, s, "closer", fmt.Sprint(n))
		}
		s.Close()
		wg.Wait()
	}
}

// Bytes that ristretto throws out come back to the index.
func TestHandBack(t *testing.T) {
	s := open(t, Options{MaxEntriesPerAgent: 100}, 1000)
	ids := map[ID]string{}
	for i := range 100 {
		text := fmt.Sprintf("%0100d", i)
		ids[put(t, s, "a", text)] = text
	}
	if st := s.Stats(); st.IndexBytes < 9000 {
		t.Fatalf("ristretto holds more than it may: %+v", st)
	}
	for id, want := range ids {
		if got := answer(s, "a", id); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

// The same for an entry that is asked for between the moment when ristretto
// lets go and the moment when the index takes over.
func TestGetDuringHandBack(t *testing.T) {
	for i := range 50 {
		s := open(t, Options{}, 100)
		id := put(t, s, "a", strings.Repeat("x", 80))
		s.mu.Lock()
		rec := s.agents[keyOf("a")].records[id]
		if !rec.inTier {
			t.Fatal("ristretto refused the first entry")
		}
		// Displace it; handBack then waits for mu, which we hold.
		s.bytes.Set(1<<40, &parcel{rec: &record{}}, 80)
		for {
			if _, ok := s.dataOf(rec); !ok {
				break
			}
			runtime.Gosched()
		}
		s.mu.Unlock()
		if got := answer(s, "a", id); len(got) != 80 {
			t.Fatalf("round %d: %q", i, got)
		}
		s.Close()
	}
}

// An entry that is removed while its bytes are on the way to ristretto leaves
// nothing there.
func TestRemovedOnTheWay(t *testing.T) {
	s := open(t, Options{}, 0)
	data := []byte("data")
	rec, err := s.insert(keyOf("a"), "id", Origin{}, data, 4)
	if err != nil {
		t.Fatal(err)
	}
	s.Forget("a")
	s.moveToTier(rec, data)
	s.bytes.Wait()
	if left := s.bytes.MaxCost() - s.bytes.RemainingCost(); left != 0 {
		t.Errorf("ristretto holds %d bytes", left)
	}
}
