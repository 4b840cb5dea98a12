package wire

import "fmt"

// longBytes is from where a request is long.
const longBytes = 64 << 10

// A Backlog bounds the requests of one peer that wait for their answers: one that
// reads no answers would pile them up. It is not for use by several goroutines.
type Backlog struct {
	// MaxRequests bounds how many there are.
	MaxRequests int
	// MaxBytes bounds those of more than 64 KiB together, each of which is held
	// several times over. One that is larger by itself waits alone.
	MaxBytes int64

	requests int
	bytes    int64 // of those that are long
}

// Add counts a request of size bytes, or says why there is no room for it.
func (b *Backlog) Add(size int64) error {
	switch {
	case b.requests >= b.MaxRequests:
		return fmt.Errorf("more than %d requests wait for their answers", b.MaxRequests)
	case size > longBytes && b.bytes > 0 && b.bytes+size > b.MaxBytes:
		return fmt.Errorf("requests of more than %d bytes wait for their answers", b.MaxBytes)
	}
	b.requests++
	if size > longBytes {
		b.bytes += size
	}
	return nil
}

// Done takes a request out that Add has counted.
func (b *Backlog) Done(size int64) {
	b.requests--
	if size > longBytes {
		b.bytes -= size
	}
}

// Empty reports whether no request waits.
func (b *Backlog) Empty() bool { return b.requests == 0 && b.bytes == 0 }
