package jq

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// sampleEvery is how often a worker looks at its memory while it works. In
// that time a program allocates some 10 MB.
const sampleEvery = 4 * time.Millisecond

// confine sets the process up for programs that may use maxBytes.
func confine(maxBytes int64) {
	// The watch needs a processor of its own. More than four would only help
	// the garbage collector.
	runtime.GOMAXPROCS(min(max(runtime.NumCPU(), 2), 4))
	// Close to the ceiling the collector works harder instead of growing the
	// heap; what is over the ceiling then is in use.
	debug.SetMemoryLimit(maxBytes / 4 * 3)
	// The stack doubles by copying, so that both are there for a while.
	debug.SetMaxStack(int(min(maxBytes/4, 256<<20)))
	limitAddresses(uint64(maxBytes))
}

// inUse is what the Go runtime has of the system's memory.
func inUse(samples []metrics.Sample) int64 {
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// watch looks at the memory until the function that it returns is called. Near
// the ceiling trees are dropped, over it the process ends.
func (k *worker) watch() (done func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(sampleEvery)
		defer t.Stop()
		samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		relieved := false
		for {
			select {
			case <-over:
				return
			case <-t.C:
			}
			switch n := inUse(samples); {
			case n > k.maxBytes:
				k.tooMuch()
				return
			case n > k.maxBytes/4*3 && !relieved:
				relieved = true
				k.relieve()
			}
		}
	}()
	return func() { close(over); <-ended }
}
