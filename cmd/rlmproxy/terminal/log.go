package terminal

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// A Log writes lines to w from a goroutine of its own, so that a host that
// does not read our stderr cannot hold up a call. Lines that find the backlog
// full are dropped and counted.
type Log struct {
	w     io.Writer
	lines chan []byte
	stop  chan struct{} // closed by Close
	ended chan struct{}
	once  sync.Once

	mu      sync.Mutex // guards dropped
	dropped int

	out   sync.Mutex // held while w is written to; guards shown
	shown string     // the line of progress that the cursor is in
}

const (
	logBacklog = 1000            // lines
	logFlush   = 2 * time.Second // what Close waits for a reader
)

// NewLog is a log that writes to w until it is closed.
func NewLog(w io.Writer) *Log {
	l := &Log{w: w, lines: make(chan []byte, logBacklog), stop: make(chan struct{}), ended: make(chan struct{})}
	go l.run()
	return l
}

// Write queues one line; slog writes each record at once. It never fails.
func (l *Log) Write(p []byte) (int, error) {
	select {
	case l.lines <- bytes.Clone(p):
	default:
		l.mu.Lock()
		l.dropped++
		l.mu.Unlock()
	}
	return len(p), nil
}

func (l *Log) run() {
	defer close(l.ended)
	for {
		select {
		case line := <-l.lines:
			l.put(line)
		case <-l.stop:
			for {
				select {
				case line := <-l.lines:
					l.put(line)
				default:
					return
				}
			}
		}
	}
}

func (l *Log) put(line []byte) {
	l.mu.Lock()
	n := l.dropped
	l.dropped = 0
	l.mu.Unlock()
	l.out.Lock()
	defer l.out.Unlock()
	if l.shown != "" {
		fmt.Fprint(l.w, erase)
		l.shown = ""
	}
	if n > 0 {
		fmt.Fprintf(l.w, "%d lines of the log were dropped: nobody read it in time\n", n)
	}
	_, _ = l.w.Write(line) // there is nowhere to report to
}

// Close writes what is queued, and waits for at most logFlush until it is read.
func (l *Log) Close() {
	l.once.Do(func() { close(l.stop) })
	select {
	case <-l.ended:
	case <-time.After(logFlush):
	}
}
