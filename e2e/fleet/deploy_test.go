package fleet

import "testing"

// TestUnnoticed: agents work while each replica in turn is told to end (SIGTERM), ends, and
// another takes its place. No agent notices: not one error.
func TestUnnoticed(t *testing.T) {
	t.Setenv("FLEET_SECONDS", "15")
	l := startLoad(t, 30, siteOptions{})
	for i := range 3 {
		l.until(0.05 + 0.3*float64(i))
		took := l.site.Replicas[i].Stop()
		l.site.Leave(i)
		t.Logf("replica %d ended in %v", i, took)
		l.until(0.2 + 0.3*float64(i))
		l.site.Restart(i)
	}
	l.until(1)
	l.finish(t)
	for kind, counts := range l.tally.counts {
		for o, n := range counts {
			if o != answered && o != evicted {
				t.Errorf("%s: %s %d", kind, o, n)
			}
		}
	}
}
