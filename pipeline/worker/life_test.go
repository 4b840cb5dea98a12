package worker_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"rlmproxy/internal/busytest"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/worker"
)

const endless = "last(repeat(.))"

// begun starts an endless program and returns when a worker runs it.
func begun(t *testing.T, ctx context.Context, p *jq.Pool, agent string) (w *worker.Child, ended chan error) {
	t.Helper()
	ended = make(chan error, 1)
	go func() {
		_, err := p.Run(ctx, query(agent, "endless", jq.JSON, []byte("1"), endless))
		ended <- err
	}()
	for w == nil {
		runtime.Gosched()
		select {
		case err := <-ended:
			t.Fatal(err)
		default:
			w = p.ChildOf(agent)
		}
	}
	return w, ended
}

func TestTwoAgentsSideBySide(t *testing.T) {
	p := newPool(t, worker.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, end := begun(t, ctx, p, "a")
	ends := []chan error{end}
	for range 5 { // they wait for the first
		end := make(chan error, 1)
		go func() {
			_, err := p.Run(ctx, query("a", "doc", jq.JSON, []byte("1"), endless))
			end <- err
		}()
		ends = append(ends, end)
	}
	for range 20 {
		if got := runPool(t, p, query("b", "doc", jq.JSON, []byte("[1,2]"), "length")); got != "2\n" {
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
// worker.SlowTime once, and then not at all. It waited for their time limits.
func TestManyAgentsAtOnce(t *testing.T) {
	p := newPool(t, worker.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, agent := range []string{"a", "b", "a", "b"} {
		wg.Go(func() {
			for ctx.Err() == nil {
				limit, end := context.WithTimeout(ctx, 5*time.Second)
				_, err := p.Run(limit, query(agent, "doc", jq.JSON, []byte("1"), endless))
				end()
				if err == nil || code(err) != jq.LimitTime && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	for p.ChildOf("a") == nil || p.ChildOf("b") == nil {
		runtime.Gosched()
	}
	clock := busytest.NewClock(t)
	for i := range 20 {
		begun := clock.Now()
		if got := runPool(t, p, query("c", "doc", jq.JSON, []byte("[1,2]"), "length")); got != "2\n" {
			t.Error(got)
		}
		most := worker.SlowTime / 2
		if i == 0 {
			most += worker.SlowTime
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
	p := newPool(t, worker.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	w, end := begun(t, ctx, p, "a")
	cancel()
	if err := <-end; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := runPool(t, p, query("a", "endless", jq.JSON, []byte("1"), ".")); got != "1\n" || p.ChildOf("a") == w {
		t.Errorf("%q", got)
	}
}

// TestRestart: a worker that ends between two programs, or under one, is
// replaced, and the document is sent again.
func TestRestart(t *testing.T) {
	p := newPool(t, worker.Options{})
	q := query("a", "doc", jq.JSON, []byte("[1,2]"), "length")
	runPool(t, p, q)
	w := p.ChildOf("a")
	w.Kill()
	<-w.Exited()
	if got := runPool(t, p, q); got != "2\n" {
		t.Errorf("killed when idle: %s", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w, end := begun(t, ctx, p, "b")
	w.Kill()
	<-w.Exited()
	var again *worker.Child
	for again == nil || again == w {
		runtime.Gosched()
		again = p.ChildOf("b")
	}
	again.Kill()
	if err := <-end; code(err) != jq.Bad || !strings.Contains(err.Error(), "twice") {
		t.Errorf("killed under the program, twice: %v", err)
	}
	if got := runPool(t, p, q); got != "2\n" {
		t.Errorf("after that: %s", got)
	}
}

func TestIdleWorkersEnd(t *testing.T) {
	p := newPool(t, worker.Options{Idle: time.Millisecond})
	q := query("a", "doc", jq.JSON, []byte("[1,2]"), "length")
	if got := runPool(t, p, q); got != "2\n" {
		t.Error(got)
	}
	w := p.ChildOf("a")
	<-w.Exited()
	if code := w.State().ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := runPool(t, p, q); got != "2\n" {
		t.Error(got)
	}
}

func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	p := jq.NewPool(worker.Options{Command: testWorker("worker")})
	runPool(t, p, query("b", "doc", jq.JSON, []byte("1"), "."))
	idle := p.ChildOf("b")
	w, end := begun(t, t.Context(), p, "a")
	waits := make(chan error)
	go func() {
		_, err := p.Run(t.Context(), query("a", "", jq.JSON, []byte("1"), "."))
		waits <- err
	}()
	for waiting := 0; waiting == 0; runtime.Gosched() {
		waiting = p.Waiting()
	}
	p.Close()
	for _, w := range []*worker.Child{w, idle} {
		select {
		case <-w.Exited():
		default:
			t.Error("a process is left")
		}
	}
	for _, c := range []chan error{end, waits} {
		if err := <-c; !errors.Is(err, worker.ErrClosed) {
			t.Error(err)
		}
	}
	if _, err := p.Run(t.Context(), jq.Query{}); !errors.Is(err, worker.ErrClosed) {
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
	p := newPool(t, worker.Options{})
	for _, agent := range []string{"a", "ab"} {
		runPool(t, p, query(agent, "doc", jq.JSON, []byte("[1,2]"), "length"))
	}
	p.Forget("a")
	if a, ab := p.ChildOf("a"), p.ChildOf("ab"); a.Keeps(worker.Key{Agent: "a", Key: "doc"}) || !ab.Keeps(worker.Key{Agent: "ab", Key: "doc"}) {
		t.Errorf("held: %v, %v", a, ab)
	}
	for _, agent := range []string{"a", "ab"} {
		if got := runPool(t, p, query(agent, "doc", jq.JSON, []byte("[1,2]"), "length")); got != "2\n" {
			t.Error(got)
		}
	}
}

// TestBadWorkers: a worker that is none costs the query, until its deadline at
// most, and no process stays.
func TestBadWorkers(t *testing.T) {
	clock := busytest.NewClock(t)
	for role, want := range map[string]string{"deaf": jq.LimitTime, "liar": jq.Bad, "mute": jq.Bad} {
		p := newPool(t, worker.Options{Command: testWorker(role)})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		begun := clock.Now()
		_, err := p.Run(ctx, query("a", "doc", jq.Text, make([]byte, 1<<20), ".")) // more than a pipe holds
		cancel()
		if got, took := code(err), clock.Since(begun); got != want && got != jq.LimitTime || took > time.Second {
			t.Errorf("%s: %v after %v", role, err, took)
		}
		p.Close()
	}
	p := newPool(t, worker.Options{Command: func() (*exec.Cmd, error) { return nil, os.ErrNotExist }})
	if _, err := p.Run(t.Context(), query("a", "doc", jq.JSON, []byte("1"), ".")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestCrashes: given time, a program ends for its memory or its stack, and
// says so.
func TestCrashes(t *testing.T) {
	p := newPool(t, worker.Options{MaxBytes: 256 << 20})
	for _, tt := range []struct{ program, text string }{
		{"reduce range(2e6) as $i (null; [.]) | tojson", "stack"},
		{`[range(100) | "abcdefgh" * 1e6] | length`, "more than 256 MiB"},
		{"reduce range(60) as $i ([1]; . + .)", "more than 256 MiB"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		begun := time.Now()
		_, err := p.Run(ctx, query("a", "doc", jq.JSON, []byte("1"), tt.program))
		cancel()
		t.Logf("%s: %v: %v", tt.program, time.Since(begun).Round(time.Millisecond), err)
		if code(err) != jq.LimitMemory || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %q", tt.program, err, tt.text)
		}
		if got := runPool(t, p, query("a", "doc", jq.JSON, []byte("1"), ".")); got != "1\n" {
			t.Errorf("after %s: %s", tt.program, got)
		}
	}
}
