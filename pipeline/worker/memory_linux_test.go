package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/worker"
)

// resident is VmRSS of a process in bytes, zero if it is gone.
func resident(pid int) (n int64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, rest, ok := bytes.Cut(status, []byte("VmRSS:")); ok {
		fmt.Sscan(string(rest), &n)
	}
	return n << 10
}

// TestMemoryReturns: what programs and documents took is given back, without
// the end of the worker.
func TestMemoryReturns(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector has memory of its own")
	}
	p := newPool(t, worker.Options{})
	doc := "[" + string(bytes.Repeat([]byte(`{"a":[1,2,3]},`), 200_000)) + "1]"
	run := func(key, program string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := p.Run(ctx, query("a", key, jq.JSON, []byte(doc), program)); err != nil {
			t.Error(err)
		}
	}
	run("doc", "[range(3e6) | tostring] | length")
	w := p.ChildOf("a")
	most := resident(w.Pid())
	p.Forget("a")
	for since := time.Now(); resident(w.Pid()) > 96<<20; runtime.Gosched() {
		if time.Since(since) > 10*time.Second {
			t.Fatalf("%d MiB resident, %d when it ran", resident(w.Pid())>>20, most>>20)
		}
	}
	t.Logf("%d MiB resident, %d when it ran", resident(w.Pid())>>20, most>>20)
}

// TestCeiling: many documents make a worker drop trees, not die.
func TestCeiling(t *testing.T) {
	p := newPool(t, worker.Options{MaxBytes: 256 << 20})
	doc := "[" + string(bytes.Repeat([]byte(`{"a":[1,2,3]},`), 100_000)) + "1]"
	var first *worker.Child
	for i := range 12 {
		runPool(t, p, query("a", fmt.Sprint(i), jq.JSON, []byte(doc), "length"))
		w := p.ChildOf("a")
		if first == nil {
			first = w
		}
		if w != first {
			t.Fatalf("the worker ended at document %d", i)
		}
		if n := resident(w.Pid()); n > 256<<20 && !raceDetector {
			t.Errorf("%d MiB resident", n>>20)
		}
	}
	huge := "[" + string(bytes.Repeat([]byte(`{"a":1},`), 3_000_000)) + "1]"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := p.Run(ctx, query("a", "huge", jq.JSON, []byte(huge), "length")); code(err) != jq.LimitMemory {
		t.Error(err)
	}
}
