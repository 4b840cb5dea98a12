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
				h := b.Hold("a")
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
		if b.large.bytes.taken != 0 || len(b.large.bytes.queue)+len(b.large.bytes.users) != 0 {
			t.Errorf("left: %d bytes taken, %d wait", b.large.bytes.taken, len(b.large.bytes.queue))
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
	large, small := b.Hold("a"), b.Hold("a")
	if err := large.Take(t.Context(), 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := small.Take(t.Context(), mb); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := b.Hold("a").Take(ctx, 2*mb); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside the largest: %v", err)
	}
	large.Release()
	if err := large.Take(t.Context(), 2*mb); !errors.Is(err, context.Canceled) || b.large.bytes.taken != 0 {
		t.Errorf("after the release: %v, %d taken", err, b.large.bytes.taken)
	}
	var none *Hold
	if err := none.Take(t.Context(), mb); err != nil {
		t.Error(err)
	}
	none.Release()
}
