package rpc

import "fmt"

// longBytes is from where a request is long.
const longBytes = 64 << 10

// A BusyError says that too many requests wait for their answers.
type BusyError struct{ text string }

func (e *BusyError) Error() string { return e.text }

// A backlog bounds the requests of one peer that wait for their answers: one that
// reads no answers would pile them up. It is not for use by several goroutines.
type backlog struct {
	maxRequests int // how many there may be
	// maxBytes bounds those of more than 64 KiB together, each of which is held
	// several times over. One that is larger by itself waits alone.
	maxBytes int64

	requests int
	bytes    int64 // of those that are long
}

// add counts a request of size bytes, or says why there is no room for it.
func (b *backlog) add(size int64) error {
	switch {
	case b.requests >= b.maxRequests:
		return &BusyError{fmt.Sprintf("more than %d requests wait for their answers", b.maxRequests)}
	case size > longBytes && b.bytes > 0 && b.bytes+size > b.maxBytes:
		return &BusyError{fmt.Sprintf("requests of more than %d bytes wait for their answers", b.maxBytes)}
	}
	b.requests++
	if size > longBytes {
		b.bytes += size
	}
	return nil
}

// done takes a request out that add has counted.
func (b *backlog) done(size int64) {
	b.requests--
	if size > longBytes {
		b.bytes -= size
	}
}
