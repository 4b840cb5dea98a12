package queue

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueueEnds: what waits is done when the queue is closed, and what does not
// end is cancelled.
func TestQueueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(slog.New(slog.DiscardHandler))
		done := 0
		for range 3 {
			q.Add("", 1, func(context.Context) { time.Sleep(time.Second); done++ })
		}
		q.Add("", 1, func(context.Context) { panic("a fault") })
		q.Add("", 1, func(ctx context.Context) { <-ctx.Done(); done++ })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		q.Close(ctx)
		if took := time.Since(begun); done != 4 || took != time.Minute {
			t.Errorf("%d done, %v", done, took)
		}
		if q.Add("", 1, func(context.Context) { t.Error("done after the end") }) != nil {
			t.Error("a closed queue takes more")
		}
		q.Close(ctx)
	})
}

// TestQueueIsBounded: in number and bytes; a long one alone has its turn.
func TestQueueIsBounded(t *testing.T) {
	q := New(slog.New(slog.DiscardHandler))
	hold := make(chan bool)
	<-func() chan bool {
		begun := make(chan bool)
		q.Add("", 0, func(context.Context) { close(begun); <-hold })
		return begun
	}()
	if q.Add("", 2*MaxBytes, func(context.Context) {}) == nil {
		t.Error("a long one does not wait alone")
	}
	if q.Add("", 1, func(context.Context) {}) != nil {
		t.Error("bytes are not counted")
	}
	n := 0
	for range 2 * MaxWaiting {
		if q.Add("", 0, func(context.Context) {}) != nil {
			n++
		}
	}
	if n != 0 {
		t.Errorf("%d more behind too many bytes", n)
	}
	close(hold)
	q.Close(t.Context())
}
