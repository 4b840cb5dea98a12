package cache

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestDerived(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		for _, tt := range []struct {
			name      string
			size      int64
			wantBuilt int
		}{
			{"kept", 10, 1},
			{"size zero is kept", 0, 1},
			{"too large to keep", 1000, 3},
		} {
			s := w.open(t, Options{DerivedBytes: 100})
			id, built := put(t, s, "a", "one"), 0
			for range 3 {
				v, err := s.Derived("a", id, "tree", func() (any, int64, error) {
					built++
					return "parsed", tt.size, nil
				})
				if v != "parsed" || err != nil {
					t.Errorf("%s: %v, %v", tt.name, v, err)
				}
			}
			if built != tt.wantBuilt {
				t.Errorf("%s: built %d times, want %d", tt.name, built, tt.wantBuilt)
			}
		}
	})
}

func TestDerivedError(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{MaxEntriesPerAgent: 1})
		id, bad, built := put(t, s, "a", "one"), errors.New("bad JSON"), 0
		build := func() (any, int64, error) { built++; return nil, 0, bad }
		for range 2 {
			if _, err := s.Derived("a", id, "tree", build); err != bad {
				t.Errorf("%v", err)
			}
		}
		if built != 2 {
			t.Errorf("errors are kept: built %d times", built)
		}
		if _, err := s.Derived("b", id, "tree", build); err != ErrUnknown {
			t.Errorf("another agent: %v", err)
		}
		put(t, s, "a", "two")
		if _, err := s.Derived("a", id, "tree", build); !errors.Is(err, ErrEvicted) {
			t.Errorf("evicted: %v", err)
		}
	})
}

// Artefacts go with their entry, and a new entry under the same id does not
// see them.
func TestDerivedGoesWithEntry(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{})
		for round := range 3 {
			id := put(t, s, "a", "one")
			v, err := s.Derived("a", id, "tree", func() (any, int64, error) { return round, 50, nil })
			if v != round || err != nil {
				t.Errorf("round %d: %v, %v", round, v, err)
			}
			s.Forget("a")
			if left := derivedBytes(s); left != 0 {
				t.Errorf("round %d: %d bytes left", round, left)
			}
		}
		// Also when the entry goes while it is being built from.
		id := put(t, s, "a", "one")
		s.Derived("a", id, "tree", func() (any, int64, error) { s.Forget("a"); return 1, 50, nil })
		if left := derivedBytes(s); left != 0 {
			t.Errorf("%d bytes left", left)
		}
	})
}

func TestDerivedIsBounded(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		s := w.open(t, Options{})
		id := put(t, s, "a", "one")
		for i := range 10 * maxDerived {
			s.Derived("a", id, fmt.Sprint(i), func() (any, int64, error) { return i, 1, nil })
		}
		if left := derivedBytes(s); left != maxDerived {
			t.Errorf("%d artefacts kept, want %d", left, maxDerived)
		}
	})
}

func TestDerivedBuildsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		id := put(t, s, "a", "one")
		var built atomic.Int64
		gate := make(chan struct{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				v, err := s.Derived("a", id, "tree", func() (any, int64, error) {
					built.Add(1)
					<-gate
					// A builder may use the store.
					lines, err := s.Derived("a", id, "lines", func() (any, int64, error) { return "lines", 1, nil })
					return lines, 10, err
				})
				if v != "lines" || err != nil {
					t.Errorf("%v, %v", v, err)
				}
			})
		}
		synctest.Wait()
		close(gate)
		wg.Wait()
		if built.Load() != 1 {
			t.Errorf("built %d times", built.Load())
		}
	})
}

// A build that does not return must not hold up those who wait for it.
func TestDerivedPanic(t *testing.T) {
	for name, end := range map[string]func(){
		"panic":  func() { panic("bug") },
		"goexit": runtime.Goexit,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, Options{})
			id := put(t, s, "a", "one")
			gate := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				defer func() {
					if r := recover(); name == "panic" && r != "bug" {
						t.Errorf("recovered %v", r)
					}
				}()
				s.Derived("a", id, "tree", func() (any, int64, error) { <-gate; end(); return nil, 0, nil })
			})
			synctest.Wait()
			wg.Go(func() {
				if _, err := s.Derived("a", id, "tree", nil); err != errUnfinished {
					t.Errorf("%s: the one who waited: %v", name, err)
				}
			})
			synctest.Wait()
			close(gate)
			wg.Wait()
			v, err := s.Derived("a", id, "tree", func() (any, int64, error) { return 1, 1, nil })
			if v != 1 || err != nil {
				t.Errorf("%s: the next: %v, %v", name, v, err)
			}
		})
	}
}
