package upstream

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSilentlyDead: a server that is there and answers nothing any more is replaced, in
// the time that pings take, whatever calls come. It was not: each call ran out of time.
func TestSilentlyDead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		harm  func(p *patient)
		load  bool          // calls come all the time
		after time.Duration // it is replaced after that; 0: never
	}{
		{"well", func(*patient) {}, false, 0},
		{"well, and used", func(*patient) {}, true, 0},
		{"mute", func(p *patient) { p.mute = true }, false, time.Minute},
		{"deaf", func(p *patient) { p.deaf = true }, false, time.Minute},
		// A call that was there before the first ping was missed must have ended.
		{"mute under load", func(p *patient) { p.mute = true }, true, 95 * time.Second},
		// It does one thing at a time.
		{"busy", func(p *patient) { p.busy = 4 * time.Minute }, true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &patient{}
			u := New(Options{Name: "p", Dial: p.dial()})
			defer u.Close()
			u.Settled(t.Context())
			time.Sleep(busyStart + time.Second)
			p.change(func() { tt.harm(p) })
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			var load sync.WaitGroup
			defer load.Wait()
			begun := time.Now()
			if tt.load {
				limit := 45 * time.Second
				if p.busy > 0 {
					limit = 5 * time.Minute
				}
				load.Go(func() {
					for ctx.Err() == nil {
						one, end := context.WithTimeout(ctx, limit)
						_, err := u.Call(one, toolCall("t", `{}`))
						end()
						if p.busy > 0 && err != nil && ctx.Err() == nil {
							t.Errorf("%s: %v", tt.name, err)
						}
						time.Sleep(time.Second)
					}
				})
			}
			n, took := 1, time.Duration(0)
			for ; ctx.Err() == nil && n == 1; time.Sleep(time.Second) {
				p.change(func() { n = p.sessions })
				took = time.Since(begun)
			}
			if tt.after == 0 && n > 1 || tt.after > 0 && (n == 1 || took > tt.after+2*time.Second) {
				t.Errorf("%s: %d sessions after %v", tt.name, n, took)
			}
			cancel()
		})
	}
}

// TestPingsAreFew: a server that is used is not asked, and one that does not know the
// method is there.
func TestPingsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &patient{}
		u := New(Options{Name: "p", Dial: p.dial()})
		defer u.Close()
		pings := func() (n int) { p.change(func() { n = p.asked["ping"] }); return n }
		for range 60 {
			if _, err := u.Call(t.Context(), toolCall("t", `{}`)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Second)
		}
		if n := pings(); n > 0 {
			t.Errorf("%d pings while it is used", n)
		}
		time.Sleep(10 * time.Minute)
		if n := pings(); n < 15 || n > 20 {
			t.Errorf("%d pings in 10 idle minutes, want one each 30 s", n)
		}
	})
}

// TestKilledForSilence: who waits for a server that is replaced reads why.
func TestKilledForSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &patient{}
		u := New(Options{Name: "p", Dial: p.dial()})
		defer u.Close()
		u.Settled(t.Context())
		time.Sleep(busyStart + time.Second)
		p.change(func() { p.mute = true })
		time.Sleep(pingEvery + pingWait + time.Second) // the first ping has been missed
		_, err := u.Call(t.Context(), toolCall("t", `{}`))
		if err == nil || !strings.Contains(err.Error(), errSilent.Error()) {
			t.Errorf("%v", err)
		}
	})
}
