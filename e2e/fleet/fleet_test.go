package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// loadTime is how long agents work: a minute, with -short a quarter of that, or as many
// seconds as FLEET_SECONDS says.
func loadTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("FLEET_SECONDS")
	switch {
	case text != "":
		n, err := strconv.Atoi(text)
		if err != nil || n < 5 {
			t.Fatalf("FLEET_SECONDS is %q, no number from 5 on", text)
		}
		return time.Duration(n) * time.Second
	case testing.Short():
		return 15 * time.Second
	}
	return time.Minute
}

// A load is agents at work on a site.
type load struct {
	site   *site
	line   *timeline
	tally  *tally
	agents []*agent
	begun  time.Time
	time   time.Duration
	end    context.CancelFunc
	wg     sync.WaitGroup
}

// startLoad opens a site and has n agents work, on all revisions, half of them by the Go SDK.
func startLoad(t *testing.T, n int, opts siteOptions) *load {
	t.Helper()
	for i := range n {
		opts.agents = append(opts.agents, fmt.Sprintf("a%02d", i))
	}
	l := &load{site: openSite(t, opts), line: &timeline{}, tally: newTally(), time: loadTime(t)}
	ctx, cancel := context.WithCancel(context.Background())
	l.end = cancel
	t.Cleanup(l.stop)
	shared := &ids{}
	for i, name := range opts.agents {
		a := &agent{name: name, revision: revisions[i/2%len(revisions)], site: l.site, line: l.line, tally: l.tally, ids: shared,
			r: rand.New(rand.NewPCG(1, uint64(i))), executed: map[string]bool{}}
		if i%2 == 0 {
			a.client = newRaw(l.site.URL, tokenOf(name), a.revision)
		} else {
			a.client = newSDK(l.site.URL, tokenOf(name), a.revision)
		}
		t.Cleanup(a.client.close)
		l.agents = append(l.agents, a)
	}
	var begins sync.WaitGroup
	for _, a := range l.agents {
		begins.Go(func() { a.begin("session begun") })
	}
	begins.Wait()
	l.begun = time.Now()
	for _, a := range l.agents {
		l.wg.Go(func() { a.run(ctx) })
	}
	return l
}

// stop has the agents finish what they do.
func (l *load) stop() {
	l.end()
	l.wg.Wait()
}

// until waits until that part of the time has passed.
func (l *load) until(part float64) {
	<-time.After(time.Until(l.begun.Add(time.Duration(part * float64(l.time)))))
}

// kill kills a replica as kill -9 does, at a moment when it works on some calls, and returns
// how many.
func (l *load) kill(i, start int) int {
	for since := time.Now(); l.site.Open(i) < 4 && time.Since(since) < 2*time.Second; time.Sleep(time.Millisecond) {
	}
	l.line.kill(i, start)
	open := l.site.Open(i)
	l.site.Replicas[i].Kill()
	l.site.Leave(i)
	return open
}

// signal sends the store's process a signal.
func (l *load) signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// storePid is the process of the store.
func (l *load) storePid(t *testing.T) int {
	t.Helper()
	info, err := l.site.Store.Client.Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "process_id:")
	text, _, _ := strings.Cut(rest, "\r\n")
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// finish ends the load, asks about every id, and counts what the servers have executed.
func (l *load) finish(t *testing.T) {
	t.Helper()
	l.stop()
	for since := time.Now(); l.line.without(time.Now(), time.Now()); time.Sleep(50 * time.Millisecond) {
		if time.Since(since) > 2*backTime {
			t.Fatal("the store is still away")
		}
	}
	var sweeps sync.WaitGroup
	for _, a := range l.agents {
		sweeps.Go(a.sweep)
	}
	sweeps.Wait()
	executed := l.site.journal.counts(t)
	for call, n := range l.site.asker.counts() {
		executed[call] += n
	}
	anew, ids := 0, 0
	for _, a := range l.agents {
		anew += a.anew
		ids += len(a.kept)
		for call, answered := range a.executed {
			if n := executed[call]; n > 1 || n == 0 && answered {
				l.tally.count("executed", timesExecuted, 0, fmt.Sprintf("%s %d times, answered %v", call, n, answered))
			}
		}
	}
	t.Logf("%d agents, %v; %d ids handed out; %d sessions begun anew\n%s%s", len(l.agents), l.time, ids, anew, l.tally, l.tally.excused())
	for _, fault := range l.tally.faults() {
		t.Error(fault)
	}
}

// TestFleet: sixty agents on all revisions work for a minute on three replicas. Each replica
// is killed (-9) and started again in turn; the store is killed once, and hangs once. Every
// id answers or says what became of it, no agent reads another's, a call on a lost replica
// gets one error, nothing is executed twice, and everything else succeeds.
func TestFleet(t *testing.T) {
	l := startLoad(t, 60, siteOptions{settings: map[string]any{"cacheTTLSeconds": int(cacheTTL.Seconds())}})
	for i := range 3 {
		l.until(0.08 + 0.16*float64(i))
		t.Logf("replica %d is killed with %d calls at it", i, l.kill(i, 1))
		l.until(0.13 + 0.16*float64(i))
		l.site.Restart(i)
	}
	l.until(0.60)
	l.line.gone()
	l.site.Store.Kill()
	l.until(0.67)
	l.site.Store.Restart()
	l.line.back()
	l.until(0.80)
	pid := l.storePid(t)
	l.line.gone()
	l.signal(t, pid, syscall.SIGSTOP)
	l.until(0.86)
	l.signal(t, pid, syscall.SIGCONT)
	l.line.back()
	l.until(1)
	l.finish(t)
	if n := l.tally.of(struck) / 2; n < 3 { // each is counted by its kind, too
		t.Errorf("only %d calls were in flight on replicas that were killed", n)
	}
}

// TestControl: of one process without a store, to which nothing happens, the same load
// counts answers only.
func TestControl(t *testing.T) {
	t.Setenv("FLEET_SECONDS", "5")
	l := startLoad(t, 20, siteOptions{n: 1, noStore: true})
	l.until(1)
	l.finish(t)
	all := 0
	for _, counts := range l.tally.counts {
		for o, n := range counts {
			if all += n; o != answered && o != evicted {
				t.Errorf("%s: %d", o, n)
			}
		}
	}
	if all < 100 {
		t.Errorf("only %d calls", all)
	}
}
