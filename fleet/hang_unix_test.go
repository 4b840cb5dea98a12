//go:build unix

package fleet

import (
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"rlmproxy/fleet/fleettest"
)

// TestHanging: a store that takes requests and does not answer holds nobody up for longer
// than the bound, and after that nobody at all.
func TestHanging(t *testing.T) {
	server := fleettest.Start(t)
	s := open(t, Options{URL: server.URL})
	if err := s.Run(t.Context(), ping); err != nil {
		t.Fatal(err)
	}
	server.Signal(syscall.SIGSTOP)
	begun := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			var away *AwayError
			if err := s.Run(t.Context(), ping); !errors.As(err, &away) {
				t.Errorf("a store that hangs: %v", err)
			}
		})
	}
	all.Wait()
	if took := time.Since(begun); took > 2*opTime {
		t.Errorf("it took %v", took)
	}
	begun = time.Now()
	if err := s.Run(t.Context(), ping); err == nil || time.Since(begun) > opTime/2 {
		t.Errorf("once it is known: %v after %v", err, time.Since(begun))
	}
	server.Signal(syscall.SIGCONT)
	fleettest.Until(t, "it is back", func() bool { return s.Run(t.Context(), ping) == nil })
}
