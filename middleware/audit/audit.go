// Package audit writes a line of JSON for each call of an agent.
//
//	observe.Call ─► Log.Called ─► a line ─► a queue ─► a file that rotates, or stderr
//
// Arguments are written as a keyed hash: equal ones can be told, and nobody without the
// key finds short ones by trying. As they are, they are written on demand only, masked.
//
// A call never waits for the disk. What cannot be written is lost; the log of the program
// says so once, and the next line that can be written says how many lines are missing.
package audit

import (
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"

	"rlmproxy/middleware/observe"
)

// Options configures a [Log]. Key and File or Stderr are required.
type Options struct {
	// File is where lines go, a path. It has MaxBytes at most; then it is renamed, and
	// the last Files of these are kept.
	File     string
	MaxBytes int64
	Files    int
	// Stderr is where lines go if File is "".
	Stderr io.Writer
	// Key is of the hashes of arguments.
	Key []byte
	// Content is how much of what was said is written.
	Content Content
	// Redact masks secrets in arguments and results, which are JSON, and returns JSON.
	// Nil means [Mask].
	Redact func(raw json.RawMessage) json.RawMessage
	// Logger hears when lines are lost. Nil discards it.
	Logger *slog.Logger
}

// Content is how much of what was said is written.
type Content string

const (
	ContentNone      Content = "none"
	ContentArguments Content = "arguments"
	ContentAll       Content = "all" // arguments, and what agents got
)

// maxQueued bounds the lines that wait to be written, in bytes.
const maxQueued = 8 << 20

// closeTime is what Close waits for a disk, or for a reader of stderr.
const closeTime = 2 * time.Second

// A Log is an observer of calls. It is safe for concurrent use.
type Log struct {
	opts    Options
	process string // begins the ids of calls
	out     io.WriteCloser
	ended   chan struct{} // closed when nothing is written any more

	mu     sync.Mutex // guards the fields below
	wake   chan struct{}
	queue  [][]byte
	bytes  int // of queue
	lost   int // lines, since one was written last
	gone   int // lines that were ever lost
	closed bool
}

var _ observe.Observer = (*Log)(nil)

// New opens the log. Close ends it.
func New(opts Options) (*Log, error) {
	if opts.Redact == nil {
		opts.Redact = Mask
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Log{opts: opts, process: newProcess(), ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	if opts.File == "" {
		l.out = stderr{opts.Stderr}
	} else {
		f, err := openFile(opts.File, opts.MaxBytes, opts.Files, opts.Logger)
		if err != nil {
			return nil, err
		}
		l.out = f
	}
	go l.run()
	return l, nil
}

// stderr is a writer that stays open.
type stderr struct{ io.Writer }

func (stderr) Close() error { return nil }

// Called implements [observe.Observer].
func (l *Log) Called(c *observe.Call) {
	line := l.line(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.bytes+len(line) > maxQueued {
		l.lose(1, errFull)
		return
	}
	l.queue = append(l.queue, line)
	l.bytes += len(line)
	l.rouse()
}

// rouse has run look at the queue. l.mu must be held.
func (l *Log) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run writes what is queued, in its order, until Close.
func (l *Log) run() {
	defer close(l.ended)
	for range l.wake {
		for {
			lines, ended := l.take()
			for _, line := range lines {
				l.write(line)
			}
			if ended {
				l.write(nil)
				_ = l.out.Close() // each line was written by itself
				return
			}
			if lines == nil {
				break
			}
		}
	}
}

// take takes what is queued. It reports whether that is the end.
func (l *Log) take() (lines [][]byte, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines = l.queue
	l.queue, l.bytes = nil, 0
	return lines, l.closed
}

// write writes how many lines are missing, if any, and a line, if there is one.
func (l *Log) write(line []byte) {
	l.mu.Lock()
	lost, lines := l.lost, min(len(line), 1)
	l.mu.Unlock()
	if lost > 0 {
		line = append(gap(lost), line...)
	}
	if len(line) == 0 {
		return
	}
	_, err := l.out.Write(line)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.lose(lines, err)
		return
	}
	if lost > 0 {
		l.opts.Logger.Warn("audit: lines are written again", "lost", lost)
		l.lost -= lost
	}
}

// lose counts lines that are lost, and logs the first. l.mu must be held.
func (l *Log) lose(n int, why error) {
	if l.lost == 0 {
		l.opts.Logger.Error("audit: lines are lost", "error", why)
	}
	l.lost += n
	l.gone += n
}

// Lost is how many lines were lost.
func (l *Log) Lost() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

// Close writes what is queued, for at most two seconds. What is called later is lost.
func (l *Log) Close() {
	l.mu.Lock()
	l.closed = true
	l.rouse()
	l.mu.Unlock()
	select {
	case <-l.ended:
	case <-time.After(closeTime):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.lost + len(l.queue); n > 0 {
		l.opts.Logger.Error("audit: lines were lost", "lost", n)
	}
}
