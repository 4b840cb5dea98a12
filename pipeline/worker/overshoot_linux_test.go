package worker_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/worker"
)

// hungry is programs that take memory in large steps.
var hungry = []string{
	`"a" * 1e9`,
	`[range(100) | "abcdefgh" * 3e7] | length`,
	`reduce range(60) as $i ([1]; . + .)`,
}

// TestOvershoot: a worker gets over its ceiling by an eighth at most before it
// ends.
func TestOvershoot(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector has memory of its own")
	}
	const ceiling = 768 << 20
	for _, source := range hungry {
		p := newPool(t, worker.Options{MaxBytes: ceiling})
		runPool(t, p, query("a", "doc", jq.JSON, []byte("null"), "."))
		w := p.ChildOf("a")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := p.Run(ctx, query("a", "doc", jq.JSON, []byte("null"), source))
		cancel()
		p.Close()
		<-w.Exited()
		usage, ok := w.State().SysUsage().(*syscall.Rusage)
		if !ok {
			t.Fatal("no usage")
		}
		t.Logf("%s: %d MiB, %s", source, usage.Maxrss>>10, code(err))
		if code(err) != jq.LimitMemory && code(err) != jq.LimitTime { // a busy machine may take longer
			t.Errorf("%s: %v", source, err)
		}
		if usage.Maxrss<<10 > ceiling/8*9 {
			t.Errorf("%s: %d MiB", source, usage.Maxrss>>10)
		}
	}
}
