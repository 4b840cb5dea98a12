package jq

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/internal/busytest"
)

// process returns the worker that agent used last.
func (p *Pool) processOf(agent string) *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if s.agent == agent && s.process != nil {
			return s.process
		}
	}
	return nil
}

const endless = "last(repeat(.))"

// begun starts an endless program and returns when a worker runs it.
func begun(t *testing.T, ctx context.Context, p *Pool, agent string) (w *process, ended chan error) {
	t.Helper()
	ended = make(chan error, 1)
	go func() {
		_, err := p.Run(ctx, Query{agent, "endless", JSON, []byte("1"), endless})
		ended <- err
	}()
	for w == nil {
		runtime.Gosched()
		select {
		case err := <-ended:
			t.Fatal(err)
		default:
			w = p.processOf(agent)
		}
	}
	return w, ended
}

func TestTwoAgentsSideBySide(t *testing.T) {
	p := newPool(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, end := begun(t, ctx, p, "a")
	ends := []chan error{end}
	for range 5 { // they wait for the first
		end := make(chan error, 1)
		go func() {
			_, err := p.Run(ctx, Query{"a", "doc", JSON, []byte("1"), endless})
			end <- err
		}()
		ends = append(ends, end)
	}
	for range 20 {
		if got := runPool(t, p, Query{"b", "doc", JSON, []byte("[1,2]"), "length"}); got != "2\n" {
			t.Error(got)
		}
	}
	cancel()
	for _, end := range ends {
		if err := <-end; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestManyAgentsAtOnce: agents with endless programs, however many, delay another's by
// slowTime once, and then not at all. It waited for their time limits.
func TestManyAgentsAtOnce(t *testing.T) {
	p := newPool(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, agent := range []string{"a", "b", "a", "b"} {
		wg.Go(func() {
			for ctx.Err() == nil {
				limit, end := context.WithTimeout(ctx, 5*time.Second)
				_, err := p.Run(limit, Query{agent, "doc", JSON, []byte("1"), endless})
				end()
				if err == nil || code(err) != LimitTime && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	for p.processOf("a") == nil || p.processOf("b") == nil {
		runtime.Gosched()
	}
	clock := busytest.NewClock(t)
	for i := range 20 {
		begun := clock.Now()
		if got := runPool(t, p, Query{"c", "doc", JSON, []byte("[1,2]"), "length"}); got != "2\n" {
			t.Error(got)
		}
		most := slowTime / 2
		if i == 0 {
			most += slowTime
		}
		if took := clock.Since(begun); took > most {
			t.Errorf("query %d took %v", i, took)
		}
	}
	cancel()
	wg.Wait()
}

// TestCancelled: a cancelled query ends at once, at the cost of its worker.
func TestCancelled(t *testing.T) {
	p := newPool(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	w, end := begun(t, ctx, p, "a")
	cancel()
	if err := <-end; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := runPool(t, p, Query{"a", "endless", JSON, []byte("1"), "."}); got != "1\n" || p.processOf("a") == w {
		t.Errorf("%q", got)
	}
}

// TestRestart: a worker that ends between two programs, or under one, is
// replaced, and the document is sent again.
func TestRestart(t *testing.T) {
	p := newPool(t, Options{})
	q := Query{"a", "doc", JSON, []byte("[1,2]"), "length"}
	runPool(t, p, q)
	w := p.processOf("a")
	w.cmd.Process.Kill()
	<-w.exited
	if got := runPool(t, p, q); got != "2\n" {
		t.Errorf("killed when idle: %s", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w, end := begun(t, ctx, p, "b")
	w.cmd.Process.Kill()
	<-w.exited
	var again *process
	for again == nil || again == w {
		runtime.Gosched()
		again = p.processOf("b")
	}
	again.cmd.Process.Kill()
	if err := <-end; code(err) != Bad || !strings.Contains(err.Error(), "twice") {
		t.Errorf("killed under the program, twice: %v", err)
	}
	if got := runPool(t, p, q); got != "2\n" {
		t.Errorf("after that: %s", got)
	}
}

func TestIdleWorkersEnd(t *testing.T) {
	p := newPool(t, Options{Idle: time.Millisecond})
	q := Query{"a", "doc", JSON, []byte("[1,2]"), "length"}
	if got := runPool(t, p, q); got != "2\n" {
		t.Error(got)
	}
	w := p.processOf("a")
	<-w.exited
	if code := w.cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if got := runPool(t, p, q); got != "2\n" {
		t.Error(got)
	}
}

func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	p := NewPool(Options{Command: testWorker("worker")})
	runPool(t, p, Query{"b", "doc", JSON, []byte("1"), "."})
	idle := p.processOf("b")
	w, end := begun(t, t.Context(), p, "a")
	waits := make(chan error)
	go func() {
		_, err := p.Run(t.Context(), Query{"a", "", JSON, []byte("1"), "."})
		waits <- err
	}()
	for waiting := 0; waiting == 0; runtime.Gosched() {
		p.mu.Lock()
		waiting = len(p.waiting)
		p.mu.Unlock()
	}
	p.Close()
	for _, w := range []*process{w, idle} {
		select {
		case <-w.exited:
		default:
			t.Error("a process is left")
		}
	}
	for _, c := range []chan error{end, waits} {
		if err := <-c; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	if _, err := p.Run(t.Context(), Query{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	for since := time.Now(); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Since(since) > 10*time.Second {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// TestForget: the trees of an agent that is gone are dropped, those of others
// are not.
func TestForget(t *testing.T) {
	p := newPool(t, Options{})
	for _, agent := range []string{"a", "ab"} {
		runPool(t, p, Query{agent, "doc", JSON, []byte("[1,2]"), "length"})
	}
	p.Forget("a")
	if a, ab := p.processOf("a").holds, p.processOf("ab").holds; a[treeKey{"a", "doc"}] || !ab[treeKey{"ab", "doc"}] {
		t.Errorf("held: %v, %v", a, ab)
	}
	for _, agent := range []string{"a", "ab"} {
		if got := runPool(t, p, Query{agent, "doc", JSON, []byte("[1,2]"), "length"}); got != "2\n" {
			t.Error(got)
		}
	}
}

// TestBadWorkers: a worker that is none costs the query, until its deadline at
// most, and no process stays.
func TestBadWorkers(t *testing.T) {
	clock := busytest.NewClock(t)
	for role, want := range map[string]string{"deaf": LimitTime, "liar": Bad, "mute": Bad} {
		p := newPool(t, Options{Command: testWorker(role)})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		begun := clock.Now()
		_, err := p.Run(ctx, Query{"a", "doc", Text, make([]byte, 1<<20), "."}) // more than a pipe holds
		cancel()
		if got, took := code(err), clock.Since(begun); got != want && got != LimitTime || took > time.Second {
			t.Errorf("%s: %v after %v", role, err, took)
		}
		p.Close()
	}
	p := newPool(t, Options{Command: func() (*exec.Cmd, error) { return nil, os.ErrNotExist }})
	if _, err := p.Run(t.Context(), Query{"a", "doc", JSON, []byte("1"), "."}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestTurns: who waits and has nothing comes first, and nobody has all.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Options{Workers: 3})
		a1, _ := p.acquire(t.Context(), treeKey{"a", ""})
		a2, _ := p.acquire(t.Context(), treeKey{"a", ""})
		var mu sync.Mutex
		var order []string
		var got []*slot
		for _, agent := range []string{"a", "a", "b", "c", "d"} {
			go func() {
				s, err := p.acquire(t.Context(), treeKey{agent, ""})
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
		p.acquire(ctx, treeKey{"b", ""})
		p.acquire(ctx, treeKey{"b", ""})
		if _, err := p.acquire(ctx, treeKey{"b", ""}); code(err) != LimitTime || !strings.Contains(err.Error(), "other programs") {
			t.Error(err)
		}
	})
}

// TestCrashes: given time, a program ends for its memory or its stack, and
// says so.
func TestCrashes(t *testing.T) {
	p := newPool(t, Options{MaxBytes: 256 << 20})
	for _, tt := range []struct{ program, text string }{
		{"reduce range(2e6) as $i (null; [.]) | tojson", "stack"},
		{`[range(100) | "abcdefgh" * 1e6] | length`, "more than 256 MiB"},
		{"reduce range(60) as $i ([1]; . + .)", "more than 256 MiB"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		begun := time.Now()
		_, err := p.Run(ctx, Query{"a", "doc", JSON, []byte("1"), tt.program})
		cancel()
		t.Logf("%s: %v: %v", tt.program, time.Since(begun).Round(time.Millisecond), err)
		if code(err) != LimitMemory || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %q", tt.program, err, tt.text)
		}
		if got := runPool(t, p, Query{"a", "doc", JSON, []byte("1"), "."}); got != "1\n" {
			t.Errorf("after %s: %s", tt.program, got)
		}
	}
}
