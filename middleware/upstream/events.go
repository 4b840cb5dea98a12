package upstream

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// An eventReader reads the data of server-sent events (WHATWG HTML, 9.2).
// Event names and ids do not matter here: the messages tell what they are.
type eventReader struct {
	r   *bufio.Reader
	max int64 // bytes of one event's data
}

func newEventReader(r io.Reader, max int64) *eventReader {
	return &eventReader{bufio.NewReaderSize(r, 64<<10), max}
}

// next returns the data of the next event that has any.
func (e *eventReader) next() ([]byte, error) {
	var data []byte
	some := false
	for {
		line, err := e.line()
		if err != nil {
			return nil, err
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case len(line) == 0:
			if some && len(bytes.TrimSpace(data)) > 0 {
				return data, nil
			}
			data, some = nil, false
		case ok:
			value = bytes.TrimPrefix(value, []byte{' '})
			if int64(len(data)+len(value)) > e.max {
				return nil, fmt.Errorf("an event of more than %d bytes", e.max)
			}
			if some {
				data = append(data, '\n')
			}
			data, some = append(data, value...), true
		}
	}
}

func (e *eventReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := e.r.ReadSlice('\n')
		line = append(line, part...)
		if int64(len(line)) > e.max+64 {
			return nil, fmt.Errorf("an event of more than %d bytes", e.max)
		}
		switch err {
		case nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case bufio.ErrBufferFull:
		default:
			return nil, err
		}
	}
}

// readCapped reads r to its end, or fails beyond max bytes.
func readCapped(r io.Reader, max int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, max+1))
	if int64(len(b)) > max {
		return nil, fmt.Errorf("a message of more than %d bytes", max)
	}
	return b, err
}
