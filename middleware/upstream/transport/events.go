package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

const (
	// largeBytes is from where on an event is large: what is smaller takes no
	// turn, as in [guard.Budget].
	largeBytes = 1 << 20
	// maxFieldBytes bounds an id, a name and what is kept of a line that is
	// passed over.
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

// An eventReader reads server-sent events. Lines end with LF, CRLF or CR.
type eventReader struct {
	r   *bufio.Reader
	max int64 // bytes of one event's data
	// large is called once per event that turns out to be larger than
	// largeBytes, before more of it is read. Nil is not called.
	large func() error

	lastID string        // of the last whole event that named one
	retry  time.Duration // the last one named; zero: none

	id       string // of the event that is being read
	size     int64  // bytes of it
	partial  []byte // of the line that is being read
	begun    bool   // the first bytes have been read
	skipLF   bool   // the last line ended with CR
	skipping bool   // the event is too long
}

func newEventReader(r io.Reader, max int64) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// A tooLongError reports a message over the cap. The next call goes on behind it.
type tooLongError struct {
	max  int64
	head []byte // how it begins, or nil: nobody knows
}

func (e *tooLongError) Error() string { return fmt.Sprintf("a message of more than %d bytes", e.max) }

// tooLong begins to skip the event, which begins with data.
func (e *eventReader) tooLong(data, more []byte) error {
	e.skipping = true
	head := bytes.Clone(data[:min(len(data), maxFieldBytes)])
	return &tooLongError{e.max, append(head, more[:min(len(more), maxFieldBytes)]...)}
}

// next returns the next event that has data. An event that is cut off is none.
func (e *eventReader) next() (event, error) {
	var ev event
	hasData := false
	for {
		line, err := e.line(ev.data)
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			skipped := e.skipping
			e.skipping, e.size, e.lastID = false, 0, e.id
			if !skipped && len(bytes.TrimSpace(ev.data)) > 0 {
				if len(ev.data) < cap(ev.data)-cap(ev.data)/8 { // results are kept for long
					ev.data = bytes.Clone(ev.data)
				}
				return ev, nil
			}
			ev, hasData = event{}, false
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "": // a comment, which belongs to no event
			e.size -= int64(len(line))
		case "data":
			switch {
			case e.skipping:
			case int64(len(ev.data)+len(value)) > e.max:
				return event{}, e.tooLong(ev.data, value)
			case hasData:
				ev.data = append(append(ev.data, '\n'), value...)
			default:
				ev.data, hasData = value, true
			}
		case "event":
			ev.name = string(value[:min(len(value), maxFieldBytes)])
		case "id":
			if len(value) <= maxFieldBytes && bytes.IndexByte(value, 0) < 0 {
				e.id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value[:min(len(value), 20)]), 10, 32); err == nil {
				e.retry = min(time.Duration(ms)*time.Millisecond, maxPause)
			}
		}
	}
}

// line returns the next line without its end, the caller's to keep; data is what has
// been read of the event before it. A line that makes the event too long fails, and its
// rest counts as a comment.
func (e *eventReader) line(data []byte) ([]byte, error) {
	for {
		part, ends, err := e.part()
		if err != nil {
			return nil, err
		}
		before := e.size
		e.size += int64(len(part))
		switch {
		case e.skipping:
			part = part[:min(len(part), max(0, maxFieldBytes-len(e.partial)))]
		case e.size > e.max+maxFieldBytes:
			err := e.tooLong(data, bytes.TrimPrefix(append(e.partial, part...), []byte("data:")))
			if e.partial = nil; !ends {
				e.partial = []byte{':'}
			}
			return nil, err
		case e.large != nil && before <= largeBytes && e.size > largeBytes:
			if err := e.large(); err != nil {
				return nil, err
			}
		}
		e.partial = append(e.partial, part...)
		if ends {
			line := e.partial
			e.partial = nil
			return line, nil
		}
	}
}

// part returns the next piece of a line, valid until the next call, and whether the
// line ends with it.
func (e *eventReader) part() (part []byte, ends bool, err error) {
	for {
		if _, err := e.r.Peek(1); err != nil {
			return nil, false, err
		}
		part, _ = e.r.Peek(e.r.Buffered())
		if !e.begun {
			e.begun = true
			if part[0] == byteOrderMark[0] { // it may come in pieces
				if b, _ := e.r.Peek(len(byteOrderMark)); string(b) == byteOrderMark {
					e.r.Discard(len(b))
				}
				continue
			}
		}
		if e.skipLF {
			e.skipLF = false
			if part[0] == '\n' {
				e.r.Discard(1)
				continue
			}
		}
		size := len(part)
		if lf := bytes.IndexByte(part, '\n'); lf >= 0 {
			part, ends, size = part[:lf], true, lf+1
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			part, ends, size, e.skipLF = part[:cr], true, cr+1, true
		}
		e.r.Discard(size)
		return part, ends, nil
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
