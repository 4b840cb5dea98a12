package relay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallTimerStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		timer := newCallTimer(time.Minute, cancel)
		time.Sleep(50 * time.Second)
		resume := timer.pause()
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("ended while a person was asked")
		}
		resume()
		time.Sleep(59 * time.Second)
		if ctx.Err() != nil {
			t.Fatal("ended too early")
		}
		time.Sleep(2 * time.Second)
		if !errors.Is(context.Cause(ctx), ErrTimeout) {
			t.Fatalf("after its time: %v", context.Cause(ctx))
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		timer = newCallTimer(time.Minute, cancel)
		timer.stop()
		timer.again()
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("ended after it was stopped")
		}
		cancel(nil)
	})
}

// TestQuestionsEnd: a call ends after maxCallTime, whether its server is still
// asking or has just been answered.
func TestQuestionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, answered := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(t.Context())
			timer := newCallTimer(time.Minute, cancel)
			resume := timer.pause()
			time.Sleep(maxCallTime - 30*time.Second)
			if answered {
				resume()
			}
			if ctx.Err() != nil {
				t.Fatal("ended too early")
			}
			time.Sleep(31 * time.Second)
			if !errors.Is(context.Cause(ctx), ErrTimeout) {
				t.Errorf("answered %v: it goes on", answered)
			}
			timer.stop()
			cancel(nil)
		}
	})
}
