package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

const (
	// largeBytes is from where on an event is large: what is smaller takes no
	// turn, as in [guard.Budget].
	largeBytes = 1 << 20
	// maxFieldBytes is what an event may have besides its data, and how much is kept of
	// one that is too long.
	maxFieldBytes = 4 << 10
	// byteOrderMark may stand in front of a stream.
	byteOrderMark = "\xef\xbb\xbf"
)

// An event is one server-sent event (WHATWG HTML, 9.2).
type event struct {
	name string // empty: "message"
	data []byte // its lines, joined by \n; the caller's to keep
}

// isMessage reports whether the event's data is a message of the protocol.
func (e event) isMessage() bool { return e.name == "" || e.name == "message" }

// An eventReader reads server-sent events. Lines end with LF or CRLF.
type eventReader struct {
	r  *bufio.Reader
	in *meter // what r reads from

	lastID string        // of the last whole event that named one
	retry  time.Duration // the last one named; zero: none

	id       string // of the event that is being read
	begun    bool   // the first line has been read
	skipping bool   // the event is too long: what is left of it is passed over
	midLine  bool   // it was found too long within a line
}

func newEventReader(r io.Reader, max int64) *eventReader {
	in := &meter{r: r, max: max + maxFieldBytes}
	return &eventReader{r: bufio.NewReaderSize(in, 64<<10), in: in}
}

// A meter counts the bytes of one event, and reads no more of one that is too long.
type meter struct {
	r   io.Reader
	max int64
	// large is called when an event turns out to be larger than largeBytes, before more
	// of it is read. Nil is not called.
	large func() error

	n        int64 // bytes of the event
	isLarge  bool  // large has been called for it
	unending bool  // it may be of any length, since it is passed over
}

// reset begins another event, of which n bytes have been read.
func (m *meter) reset(n int) { m.n, m.isLarge, m.unending = int64(n), false, false }

// Read is called when all that was read before belongs to the event.
func (m *meter) Read(b []byte) (int, error) {
	switch {
	case m.unending:
	case m.n > m.max:
		return 0, errTooLong
	case m.n > largeBytes && !m.isLarge && m.large != nil:
		m.isLarge = true
		if err := m.large(); err != nil {
			return 0, err
		}
	}
	n, err := m.r.Read(b)
	m.n += int64(n)
	return n, err
}

var errTooLong = errors.New("an event is too long")

// A tooLongError reports a message over the cap. The next call goes on behind it.
type tooLongError struct {
	max  int64
	head []byte // how it begins, or nil: nobody knows
}

func (e *tooLongError) Error() string { return fmt.Sprintf("a message of more than %d bytes", e.max) }

// next returns the next event that has data. An event that is cut off is none.
func (e *eventReader) next() (event, error) {
	if e.skipping {
		if err := e.skip(); err != nil {
			return event{}, err
		}
	}
	var ev event
	for {
		line, err := e.r.ReadBytes('\n') // which joins the pieces of a long line once
		if errors.Is(err, errTooLong) {
			e.skipping, e.midLine = true, len(line) > 0
			head := append(ev.data, bytes.TrimPrefix(line, []byte("data:"))...)
			return event{}, &tooLongError{e.in.max - maxFieldBytes, bytes.Clone(head[:min(len(head), maxFieldBytes)])}
		}
		if err != nil {
			return event{}, err
		}
		line = bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'})
		if !e.begun {
			e.begun, line = true, bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if len(line) == 0 {
			e.lastID = e.id
			e.in.reset(e.r.Buffered())
			if len(bytes.TrimSpace(ev.data)) > 0 {
				return ev, nil
			}
			ev = event{}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "": // a comment, which belongs to no event
			e.in.n -= int64(len(line))
		case "data":
			if ev.data == nil {
				ev.data = value
			} else {
				ev.data = append(append(ev.data, '\n'), value...)
			}
		case "event":
			ev.name = string(value)
		case "id":
			if len(value) <= maxFieldBytes { // it goes into a header
				e.id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
				e.retry = min(time.Duration(ms)*time.Millisecond, maxPause)
			}
		}
	}
}

// skip reads to the end of an event that is too long.
func (e *eventReader) skip() error {
	e.in.unending = true
	for {
		part, err := e.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if !e.midLine && len(bytes.TrimRight(part, "\r\n")) == 0 {
			e.skipping = false
			e.in.reset(e.r.Buffered())
			return nil
		}
		e.midLine = err != nil
	}
}

// readCapped reads r to its end, or fails beyond max bytes.
func readCapped(r io.Reader, max int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, max+1))
	if int64(len(b)) > max {
		return nil, &tooLongError{max, nil}
	}
	return b, err
}
