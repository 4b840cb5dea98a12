package process

import (
	"io"
	"log/slog"
	"testing"
	"time"
)

// TestLateReader: what a server wrote before its end can be read long after it, and
// whoever holds the pipe open does not keep it from ending.
func TestLateReader(t *testing.T) {
	for _, script := range []string{
		"head -c 50000 /dev/zero",
		"head -c 50000 /dev/zero; setsid sleep 4 >&1 & sleep 0.2; exit 0",
		"head -c 50000 /dev/zero; setsid sh -c 'while echo x; do :; done' & sleep 0.2; exit 0",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			p, err := Command{Path: "sh", Args: []string{"-c", script}}.Start(slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			<-p.exited
			time.Sleep(drainTime + 300*time.Millisecond)
			begun := time.Now()
			b, err := io.ReadAll(p.Stdout)
			if err != nil || len(b) < 50000 || len(b) > 50000+drainBytes {
				t.Errorf("%s: %d bytes, %v", script, len(b), err)
			}
			if d := time.Since(begun); d > 5*time.Second {
				t.Errorf("%s: ended after %v", script, d)
			}
			p.stdout.Close()
			p.Close()
		})
	}
}
