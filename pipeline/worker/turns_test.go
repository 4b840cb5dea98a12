package worker

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns: who waits and has nothing comes first, and nobody has all.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Options{Workers: 3})
		a1, _ := p.acquire(t.Context(), Key{"a", ""})
		a2, _ := p.acquire(t.Context(), Key{"a", ""})
		var mu sync.Mutex
		var order []string
		var got []*slot
		for _, agent := range []string{"a", "a", "b", "c", "d"} {
			go func() {
				s, err := p.acquire(t.Context(), Key{agent, ""})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				order, got = append(order, agent), append(got, s)
			}()
			synctest.Wait()
		}
		for _, s := range []*slot{a1, a2} {
			p.release(s)
			synctest.Wait()
		}
		for i := 0; i < 5; i++ {
			p.release(got[i])
			synctest.Wait()
		}
		if s := strings.Join(order, ""); s != "bcada" {
			t.Errorf("order %s", s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p.acquire(ctx, Key{"b", ""})
		p.acquire(ctx, Key{"b", ""})
		var stopped *StoppedError
		if _, err := p.acquire(ctx, Key{"b", ""}); !errors.As(err, &stopped) || stopped.Reason != Crowded {
			t.Error(err)
		}
	})
}
