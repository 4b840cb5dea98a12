package bench

import (
	"flag"
	"slices"
	"testing"
	"time"
)

// turns measures run, and base in turns with it, and reports the median of run
// and its ratio to that of base, under the name of ratio. Only run counts for
// the benchmark's own figures.
func turns(b *testing.B, ratio string, run, base func() error) {
	b.Helper()
	timed := func(f func() error) time.Duration {
		begun := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		return time.Since(begun)
	}
	if !once() {
		timed(base)
		timed(run)
	}
	b.ReportAllocs()
	var runs, bases []time.Duration
	var ran, based time.Duration
	for b.Loop() {
		// A base that is much the slower one gets fewer turns.
		if based <= ran {
			b.StopTimer()
			d := timed(base)
			bases, based = append(bases, d), based+d
			b.StartTimer()
		}
		d := timed(run)
		runs, ran = append(runs, d), ran+d
	}
	b.ReportMetric(float64(median(runs)), "p50-ns")
	b.ReportMetric(float64(median(runs))/float64(median(bases)), ratio)
}

// once tells that nobody looks at the figures, only whether everything runs.
func once() bool { return flag.Lookup("test.benchtime").Value.String() == "1x" }

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
