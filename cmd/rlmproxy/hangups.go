package main

import (
	"os"
	"sync/atomic"
)

// hangups are signals of SIGHUP where files are read again for it. The zero value ends the
// program, as whoever closes a terminal expects.
type hangups struct{ asked atomic.Pointer[chan struct{}] }

// take has the signal ask on the channel that is returned, unless the program has a
// terminal: that may be what was hung up.
func (h *hangups) take() <-chan struct{} {
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
		return nil
	}
	asked := make(chan struct{}, 1)
	h.asked.Store(&asked)
	return asked
}

// ask reports whether the signal was taken.
func (h *hangups) ask() bool {
	asked := h.asked.Load()
	if asked == nil {
		return false
	}
	select {
	case *asked <- struct{}{}:
	default: // one waits
	}
	return true
}
