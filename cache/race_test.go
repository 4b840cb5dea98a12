package cache

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// Many goroutines and small quotas: an id answers with its own data or as gone.
func TestConcurrent(t *testing.T) {
	forms(t, func(t *testing.T, w *world) {
		var log bytes.Buffer
		s := w.open(t, Options{
			MaxEntriesPerAgent: 8, MaxBytesPerAgent: 4000, MaxBytes: 20_000, MaxAgents: 6, DerivedBytes: 500,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
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
		if left := derivedBytes(s); left != 0 {
			t.Errorf("ristretto still holds %d bytes", left)
		}
	})
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
	forms(t, func(t *testing.T, w *world) {
		rounds := 50
		if w.form != "memory" { // which takes longer
			rounds = 8
		}
		for i := range rounds {
			s := w.another(t).open(t, Options{MaxBytes: 5000})
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
	})
}
