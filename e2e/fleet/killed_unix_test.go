//go:build unix

package fleet

import (
	"syscall"
	"testing"
)

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
	l.line.gone()
	l.site.Store.Signal(syscall.SIGSTOP)
	l.until(0.86)
	l.site.Store.Signal(syscall.SIGCONT)
	l.line.back()
	l.until(1)
	l.finish(t)
	if n := l.tally.of(struck) / 2; n < 3 { // each is counted by its kind, too
		t.Errorf("only %d calls were in flight on replicas that were killed", n)
	}
}
