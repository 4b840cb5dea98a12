package jq

import (
	"context"
	"syscall"
	"testing"
	"time"
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
		p := newPool(t, Options{MaxBytes: ceiling})
		runPool(t, p, Query{"a", "doc", JSON, []byte("null"), "."})
		w := p.processOf("a")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := p.Run(ctx, Query{"a", "doc", JSON, []byte("null"), source})
		cancel()
		p.Close()
		<-w.exited
		usage, ok := w.cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			t.Fatal("no usage")
		}
		t.Logf("%s: %d MiB, %s", source, usage.Maxrss>>10, code(err))
		if code(err) != LimitMemory && code(err) != LimitTime { // a busy machine may take longer
			t.Errorf("%s: %v", source, err)
		}
		if usage.Maxrss<<10 > ceiling/8*9 {
			t.Errorf("%s: %d MiB", source, usage.Maxrss>>10)
		}
	}
}
