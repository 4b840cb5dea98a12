package worker

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// sampleEvery is how often a worker looks at its memory while it works. In
// that time a task allocates some 10 MB.
const sampleEvery = 4 * time.Millisecond

// confine sets the process up for tasks that may use maxBytes.
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

// memoryUse is what the Go runtime has of the system's memory, and what of it was
// live at the last collection.
func memoryUse() (total, live int64) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64()), int64(samples[2].Value.Uint64())
}

// tidy gives back what the tasks before have left, if that is so much that the
// next one could hit the ceiling by it.
func (k *process) tidy() {
	if total, live := memoryUse(); total-live > k.maxBytes/3 {
		debug.FreeOSMemory()
	}
}

// watch looks at the memory until the function that it returns is called. Near
// the ceiling the language is told, over it the process ends.
func (k *process) watch() (done func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(sampleEvery)
		defer t.Stop()
		relieved := false
		for {
			select {
			case <-over:
				return
			case <-t.C:
			}
			if k.waits.Load() {
				continue
			}
			switch n, _ := memoryUse(); {
			case n > k.maxBytes:
				k.tooMuch()
				return
			case n > k.maxBytes/8*7 && !relieved:
				relieved = true
				k.language.Relieve()
			}
		}
	}()
	return func() { close(over); <-ended }
}
