package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

const (
	// largeBytes is from where on an event is large: what is smaller takes no
	// turn, as in [wire.Budget].
	largeBytes = 1 << 20
	// maxBlock is the largest piece in which a long line is read.
	maxBlock = 4 << 20
	// maxFieldBytes bounds an id, a name and what is kept of a line that is
	// passed over.
	maxFieldBytes = 4 << 10
	// maxRetry bounds the pause that a server may ask for.
	maxRetry = time.Minute
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
	begun    bool   // the first bytes have been read
	skipLF   bool   // the last line ended with CR
	midLine  bool   // the last line was left before its end
	skipping bool   // the event is too long
}

// byteOrderMark may stand in front of a stream.
const byteOrderMark = "\xef\xbb\xbf"

func newEventReader(r io.Reader, max int64) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// A tooLongError reports a message over the cap. The next call goes on behind it.
type tooLongError struct {
	max  int64
	head []byte // how it begins, or nil: nobody knows
}

func (e *tooLongError) Error() string { return fmt.Sprintf("a message of more than %d bytes", e.max) }

// next returns the next event that has data. An event that is cut off is none.
func (e *eventReader) next() (event, error) {
	var ev event
	some := false
	for {
		line, owned, err := e.line()
		var long *tooLongError
		if errors.As(err, &long) {
			head := append(bytes.Clone(ev.data[:min(len(ev.data), maxFieldBytes)]), bytes.TrimPrefix(long.head, []byte("data:"))...)
			return event{}, &tooLongError{e.max, head}
		}
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			skipped := e.skipping
			e.skipping, e.size, e.lastID = false, 0, e.id
			if !skipped && len(bytes.TrimSpace(ev.data)) > 0 {
				return ev, nil
			}
			ev, some = event{}, false
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
				e.skipping = true
				head := append(bytes.Clone(ev.data[:min(len(ev.data), maxFieldBytes)]), value[:min(len(value), maxFieldBytes)]...)
				return event{}, &tooLongError{e.max, head}
			case some:
				ev.data = append(append(ev.data, '\n'), value...)
			case owned:
				ev.data = value
			default:
				ev.data = append([]byte(nil), value...)
			}
			some = true
		case "event":
			ev.name = string(value[:min(len(value), maxFieldBytes)])
		case "id":
			if len(value) <= maxFieldBytes && bytes.IndexByte(value, 0) < 0 {
				e.id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value[:min(len(value), 20)]), 10, 32); err == nil {
				e.retry = min(time.Duration(ms)*time.Millisecond, maxRetry)
			}
		}
	}
}

// line returns the next line without its end. Unless it is owned it is valid
// until the next call. A long line is read in pieces and joined, so that what is
// kept of it has no room behind.
func (e *eventReader) line() (line []byte, owned bool, err error) {
	var full [][]byte // pieces that are full
	var block []byte
	n := 0 // bytes of all
	for {
		part, end, err := e.part()
		if err != nil {
			return nil, false, err
		}
		n += len(part)
		e.size += int64(len(part))
		switch {
		case e.skipping:
			part = part[:max(0, min(len(part), len(part)-(n-maxFieldBytes)))]
		case e.size > e.max+maxFieldBytes:
			e.skipping, e.midLine = true, !end
			var head []byte
			for _, piece := range append(full, block, part) {
				head = append(head, piece[:min(len(piece), maxFieldBytes-len(head))]...)
			}
			return nil, false, &tooLongError{e.max, head}
		case e.large != nil && e.size > largeBytes && e.size-int64(len(part)) <= largeBytes:
			if err := e.large(); err != nil {
				return nil, false, err
			}
		}
		if end && n == len(part) {
			return part, false, nil
		}
		if len(block)+len(part) > cap(block) {
			if block != nil {
				full = append(full, block)
			}
			block = make([]byte, 0, max(len(part), min(n, maxBlock)))
		}
		block = append(block, part...)
		switch {
		case !end:
		case full == nil:
			return block, true, nil
		default:
			return slices.Concat(append(full, block)...), true, nil
		}
	}
}

// part returns the next piece of a line, valid until the next call, and whether the
// line ends with it. It passes over the rest of a line that was left.
func (e *eventReader) part() ([]byte, bool, error) {
	for {
		if _, err := e.r.Peek(1); err != nil {
			return nil, false, err
		}
		part, _ := e.r.Peek(e.r.Buffered())
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
		end, size := false, len(part)
		if lf := bytes.IndexByte(part, '\n'); lf >= 0 {
			part, end, size = part[:lf], true, lf+1
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			part, end, size, e.skipLF = part[:cr], true, cr+1, true
		}
		e.r.Discard(size)
		if !e.midLine {
			return part, end, nil
		}
		e.midLine = !end
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
