package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// drainTime is how long the pipes of a server that has ended are waited for.
	drainTime = 500 * time.Millisecond
	// drainBytes is more than a pipe holds: what comes behind was not written by the
	// server.
	drainBytes = 4 << 20
)

// An output is the stdout of a server. Once that has ended, what is still in the
// pipe can be read, whenever its reader gets to it; then the pipe ends, though others
// may hold it open. Read is called by one goroutine at a time.
type output struct {
	*os.File

	mu    sync.Mutex // guards the fields below
	ended bool
	wait  time.Duration // left for reads that wait, together
	left  int           // bytes
}

// drain ends the pipe behind what is in it.
func (o *output) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended, o.wait, o.left = true, drainTime, drainBytes
	// A read that waits now.
	if o.File.SetReadDeadline(time.Now().Add(drainTime)) != nil { // as on Windows
		time.AfterFunc(drainTime, func() { o.File.Close() })
	}
}

func (o *output) Read(b []byte) (int, error) {
	o.mu.Lock()
	ended := o.ended
	if ended {
		if o.left <= 0 || o.wait <= 0 {
			o.mu.Unlock()
			return 0, io.EOF
		}
		_ = o.File.SetReadDeadline(time.Now().Add(max(o.wait, 10*time.Millisecond)))
		b = b[:min(len(b), o.left)]
	}
	o.mu.Unlock()
	begun := time.Now()
	n, err := o.File.Read(b)
	if ended {
		o.mu.Lock()
		o.wait -= time.Since(begun)
		o.left -= n
		o.mu.Unlock()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}
