package worker

import (
	"context"
	"errors"
	"os"
	"os/exec"
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

// TestRoom: programs that have asked for something have a minute, and make room then for another
// agent's; those of the agent that waits do not count, and no agent has more than its own number.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Options{Workers: 4, PerAgent: 2})
		begin := func(agent string) *slot {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
			defer cancel()
			s, _ := p.acquire(ctx, Key{agent, ""})
			p.mu.Lock()
			defer p.mu.Unlock()
			if s != nil { // a process that has asked its host for something
				s.child = &child{cmd: &exec.Cmd{Process: &os.Process{Pid: -1}}, exited: make(chan struct{})}
				s.child.asked.Store(true)
			}
			return s
		}
		a1, a2 := begin("a"), begin("a")
		if a1 == nil || a2 == nil || begin("a") != nil {
			t.Fatal("an agent has two workers, and no more")
		}
		time.Sleep(10 * time.Second)
		b1 := begin("b")
		if b1 == nil || begin("b") == nil {
			t.Fatal("the other agent has two as well")
		}
		room := make(chan *slot, 1)
		go func() {
			s, err := p.acquire(t.Context(), Key{"c", ""})
			if err != nil {
				t.Error(err)
			}
			room <- s
		}()
		time.Sleep(askedTime - 10*time.Second - time.Millisecond)
		synctest.Wait()
		p.mu.Lock()
		for _, s := range p.slots {
			if s.ousted || s.child.killed.Load() {
				t.Error("a program had no minute")
			}
		}
		p.mu.Unlock()
		time.Sleep(time.Millisecond)
		synctest.Wait()
		p.mu.Lock()
		if !a1.ousted || !a1.child.killed.Load() || a2.ousted || b1.ousted {
			t.Error("the first one does not make room after a minute, or others do")
		}
		exited := a1.child.exited
		p.mu.Unlock()
		if !p.release(a1) { // as its task ends
			t.Error("it does not hear why it ended")
		}
		close(exited)
		if s := <-room; s != a1 {
			t.Error("another has the room")
		}
		// Who made room for somebody is slow: it makes nobody make room for it.
		waits, stop := context.WithCancel(t.Context())
		go func() { _, _ = p.acquire(waits, Key{"a", ""}) }()
		time.Sleep(2*slowFor - slowTime)
		synctest.Wait()
		stop()
		synctest.Wait()
		p.mu.Lock()
		for _, s := range p.slots {
			if s.ousted {
				t.Error("a task made room for an agent that is slow itself")
			}
			s.child = nil
		}
		if p.look != nil {
			p.look.Stop()
		}
		p.mu.Unlock()
	})
}
