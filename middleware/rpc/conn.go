package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
)

// ConnOptions configures a [Conn]. Handle is required.
type ConnOptions struct {
	Options
	// Junk receives lines that are no message, such as banners, cut to 200 bytes. Nil
	// discards them. It is called from the reading goroutine.
	Junk func(line []byte, err error)
	// Server makes the connection answer junk with a JSON-RPC error, as a server must;
	// a client only reports it.
	Server bool
	// InOrder says of which of the other side's requests the answer comes before
	// anything behind them is read. Nil: of none.
	InOrder func(method string) bool
}

// A Conn is a [Peer] over a pair of byte streams, one message a line.
type Conn struct {
	*Peer
	opts  ConnOptions
	lines *lineReader
	r     io.Closer // of lines
	w     *lineWriter
	over  sync.Once
	done  chan struct{} // closed by finish
}

// NewConn starts reading messages from r and writing messages to w. Close closes
// both.
func NewConn(r io.ReadCloser, w io.WriteCloser, opts ConnOptions) *Conn {
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	c := &Conn{
		opts:  opts,
		lines: newLineReader(r, opts.MaxBytes),
		r:     r,
		done:  make(chan struct{}),
	}
	c.w = newLineWriter(w, c.finish)
	c.Peer = NewPeer(c.w, opts.Options)
	go c.read()
	return c
}

// finish notes that one of the streams has ended: no answer to a call of ours can
// come, or nothing can be asked.
func (c *Conn) finish() {
	c.over.Do(func() {
		c.Peer.End()
		close(c.done)
	})
}

// Done is closed when the other side has ended its stream, or does not take what is
// written to it, or Close was called. Calls that waited have failed by then.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Stuck is how long the message that is being written has taken so far: the other side
// may have stopped reading.
func (c *Conn) Stuck() time.Duration { return c.w.stuck() }

// LastSent is when the last message was written, the zero of Unix time if none was.
func (c *Conn) LastSent() time.Time { return time.Unix(0, c.w.ended.Load()) }

// Close ends what runs, closes both streams, and returns when nothing is answered any
// more. Reading ends as soon as the stream lets it: a terminal's may not, before it has
// something to read. It may be called more than once, but not by Handle.
func (c *Conn) Close() {
	c.Peer.die()
	c.w.close()
	_ = c.r.Close() // whatever it says, it is read no more
	c.Peer.Close()
}

// read reads until the other side ends the stream, or Close does.
func (c *Conn) read() {
	defer c.finish()
	for {
		line, err := c.lines.next()
		var over *OversizeError
		switch {
		case errors.As(err, &over):
			c.junk(over.Head, over.Ends, over)
		case err != nil:
			return
		case line[0] == '[':
			if err := c.batch(line); err != nil {
				c.junk(line, EndsOf(line), err)
			}
		default:
			if err := c.message(line); err != nil {
				c.junk(line, EndsOf(line), err)
			}
		}
		select {
		case <-c.w.done:
			return
		default:
		}
	}
}

// maxBadParts is how many messages of one batch may be none. Each costs an answer, or
// a line in a log.
const maxBadParts = 16

// batch takes the messages of a batch, of revision 2025-03-26 and before. What is wrong
// with one of them fails that one.
func (c *Conn) batch(line []byte) error {
	bad, empty := 0, true
	err := jsonscan.Elements(line, func(v json.RawMessage) error {
		empty = false
		err := c.message(v)
		if err == nil {
			return nil
		}
		if bad++; bad > maxBadParts {
			return fmt.Errorf("a batch with more than %d parts that are not messages: %w", maxBadParts, err)
		}
		c.junk(v, EndsOf(v), err)
		return nil
	})
	if err == nil && empty {
		return ErrNotMessage
	}
	return err
}

// message takes one message.
func (c *Conn) message(line []byte) error {
	m, err := Parse(line)
	switch {
	case err != nil && line[0] != '{' && jsonscan.Valid(line, jsonscan.MaxDepth):
		return ErrNotMessage
	case err != nil:
		return err
	case m.Method == "" && !c.answers(m):
		return ErrNotMessage
	case m.ID != nil && c.opts.InOrder != nil && c.opts.InOrder(m.Method):
		var s *serving
		if s, err = c.serve(context.Background(), m); err == nil {
			<-s.done
		}
	default:
		err = c.Receive(context.Background(), m)
	}
	var busy *guard.BusyError
	if !c.opts.Server && errors.As(err, &busy) {
		c.w.Try(context.Background(), Refused(m.ID, err))
	}
	return err
}

// answers reports whether a message without a method answers a call, one that nobody
// waits for any more included. Without a result and an error it may still be meant as
// the answer to one that waits, which fails then.
func (c *Conn) answers(m Message) bool {
	return m.ID != nil && (m.Result != nil || m.Error != nil || c.waits(string(m.ID)))
}

// junk deals with a line that is no message, and of one over the cap with its begin.
func (c *Conn) junk(line []byte, ends Ends, err error) {
	err = brief{err}
	var over *OversizeError
	tooLong := errors.As(err, &over)
	if tooLong || line[0] == '{' {
		c.Unreadable(ends, err, tooLong || errors.Is(err, jsonscan.ErrTooDeep))
	}
	if c.opts.Junk != nil {
		c.opts.Junk(line[:min(len(line), 200)], err)
	}
	if !c.opts.Server || errors.Is(err, ErrIDInUse) {
		return
	}
	m, _ := Parse(line)
	if m.ID == nil {
		m.ID = ends.id()
	}
	_ = c.w.Send(context.Background(), Refused(m.ID, err)) // fails only if the connection has ended
}
