package rpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxLines is how many lines wait to be written: all that a client is told at once
	// when it has shaken hands, and what is asked and answered meanwhile.
	maxLines = 256 + 64
	// maxTried is beyond how many bytes of what nobody waits for no more is queued.
	maxTried = 4 << 20
	// writeBytes is up to where a line is written at once. Each write wakes the reader.
	writeBytes = 32 << 10
)

// A lineWriter writes messages as lines. It is the [Transport] of a [Conn]. Lines are
// written whole, by one goroutine, so that a caller who gives up never leaves half of
// one behind.
type lineWriter struct {
	w       io.WriteCloser
	queue   chan outgoing
	tried   atomic.Int64 // bytes in queue that nobody waits for
	begun   atomic.Int64 // when the line that is being written began, in ns of Unix time, or 0
	ended   atomic.Int64 // when the last one was written, likewise
	done    chan struct{}
	closing sync.Once
	closed  func() // called once
}

// An outgoing message waits to be written.
type outgoing struct {
	ctx   context.Context // it is not written once that has ended
	m     Message
	sent  chan<- error // capacity 1; nil: nobody waits
	tried int64        // bytes, of what nobody waits for
}

// newLineWriter begins to write to w. Closed is called when it cannot be written to, or
// close was called.
func newLineWriter(w io.WriteCloser, closed func()) *lineWriter {
	lw := &lineWriter{w: w, closed: closed, queue: make(chan outgoing, maxLines), done: make(chan struct{})}
	go lw.run()
	return lw
}

// Send implements [Transport]: it returns when the line has been written.
func (w *lineWriter) Send(ctx context.Context, m Message) error {
	sent := make(chan error, 1)
	select {
	case w.queue <- outgoing{ctx, m, sent, 0}:
	case <-w.done:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-sent:
		return err
	case <-w.done:
		select {
		case err := <-sent: // by which the stream has ended
			return err
		default:
			return ErrClosed
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Try implements [Transport]: a reader that reads nothing loses it.
func (w *lineWriter) Try(_ context.Context, m Message) {
	n := int64(len(m.Params) + len(m.Result) + len(m.Error) + len(m.Method) + len(m.ID))
	if w.tried.Add(n)-n <= maxTried {
		select {
		case w.queue <- outgoing{context.Background(), m.Clone(), nil, n}:
			return
		default:
		}
	}
	w.tried.Add(-n)
}

// run writes what is queued. A stream that cannot be written to is closed.
func (w *lineWriter) run() {
	buffered := bufio.NewWriterSize(w.w, writeBytes)
	for {
		select {
		case <-w.done:
			return
		case out := <-w.queue:
			w.tried.Add(-out.tried)
			err := out.ctx.Err()
			if err == nil {
				w.begun.Store(time.Now().UnixNano())
				err = write(buffered, out.m)
				w.begun.Store(0)
				w.ended.Store(time.Now().UnixNano())
				if err != nil {
					err = fmt.Errorf("%w: %w", ErrClosed, err)
				}
			}
			if out.sent != nil {
				out.sent <- err
			}
			if errors.Is(err, ErrClosed) {
				w.close()
				return
			}
		}
	}
}

// write writes one line. Of a long one only the ends are copied.
func write(w *bufio.Writer, m Message) error {
	head, body, tail := m.Parts()
	body = OneLine(body)
	_, _ = w.Write(head) // Flush has the error
	// The last bytes go together with what follows.
	most := max(0, len(body)-writeBytes/2)
	_, _ = w.Write(body[:most])
	_, _ = w.Write(body[most:])
	_, _ = w.Write(append(tail, '\n'))
	return w.Flush()
}

// stuck is how long the line that is being written has taken so far, at least.
func (w *lineWriter) stuck() time.Duration {
	begun := w.begun.Load()
	if begun == 0 {
		return 0
	}
	return time.Since(time.Unix(0, begun))
}

func (w *lineWriter) close() {
	w.closing.Do(func() {
		close(w.done)
		_ = w.w.Close() // what could not be written is lost
		w.closed()
	})
}
