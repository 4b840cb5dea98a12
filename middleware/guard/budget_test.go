package guard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const mb = 1 << 20

// TestBudget: never more than the bound at one time, all get their turn, and who
// gives up leaves the queue as it was.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var idle atomic.Int64
		b := NewBudget(64*mb, func() { idle.Add(1) })
		var now, most atomic.Int64
		var wg sync.WaitGroup
		for i := range int64(100) {
			wg.Go(func() {
				h := b.Hold()
				defer h.Release()
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%3)*time.Second)
				defer cancel()
				n := (i%9 + 2) * 10 * mb
				if h.Take(ctx, n) != nil || h.Take(ctx, n/2) != nil {
					return
				}
				n = min(n, 64*mb)
				if v := now.Add(n); v > most.Load() {
					most.Store(v)
				}
				time.Sleep(100 * time.Millisecond)
				now.Add(-n)
				h.Pause()
				_ = h.Take(ctx, 3*mb)
			})
		}
		wg.Wait()
		if most.Load() > 64*mb || most.Load() < 40*mb {
			t.Errorf("%d bytes at one time", most.Load())
		}
		if b.large.taken != 0 || len(b.large.queue) != 0 {
			t.Errorf("left: %d bytes taken, %d wait", b.large.taken, len(b.large.queue))
		}
		time.Sleep(2 * idleTime)
		synctest.Wait()
		if idle.Load() != 1 {
			t.Errorf("idle %d times", idle.Load())
		}
	})
}

// TestBudgetSmall: small results do not wait for large ones.
func TestBudgetSmall(t *testing.T) {
	b := NewBudget(64*mb, nil)
	large, small := b.Hold(), b.Hold()
	if err := large.Take(t.Context(), 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := small.Take(t.Context(), mb); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := b.Hold().Take(ctx, 2*mb); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside the largest: %v", err)
	}
	large.Release()
	if err := large.Take(t.Context(), 2*mb); !errors.Is(err, context.Canceled) || b.large.taken != 0 {
		t.Errorf("after the release: %v, %d taken", err, b.large.taken)
	}
	var none *Hold
	if err := none.Take(t.Context(), mb); err != nil {
		t.Error(err)
	}
	none.Release()
}

// TestBudgetKeep: what is given back is another's, and what is kept is not.
func TestBudgetKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(64*mb, nil)
		h, other := b.Hold(), b.Hold()
		if err := h.Take(t.Context(), 64*mb); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = other.Take(t.Context(), 40*mb) })
		synctest.Wait()
		h.Keep(64 * mb)
		h.Keep(100 * mb)
		h.Keep(30 * mb)
		synctest.Wait()
		if b.large.taken != 30*mb {
			t.Errorf("%d bytes taken", b.large.taken)
		}
		h.Keep(20 * mb)
		wg.Wait()
		if b.large.taken != 60*mb {
			t.Errorf("%d bytes taken", b.large.taken)
		}
		h.Release()
		h.Keep(0)
		other.Release()
		if b.large.taken != 0 {
			t.Errorf("%d bytes left", b.large.taken)
		}
		(*Hold)(nil).Keep(1)
	})
}
