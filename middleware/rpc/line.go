package rpc

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sync"
)

// An OversizeError reports a line over the cap. The line was read to its end
// and thrown away, so the stream goes on with the next one.
type OversizeError struct {
	Size, Max int64 // bytes
	Ends
}

func (e *OversizeError) Error() string {
	return fmt.Sprintf("message of %d bytes is over the limit of %d", e.Size, e.Max)
}

// A lineReader reads newline-delimited messages of at most max bytes.
type lineReader struct {
	r   io.Reader
	max int64

	base []byte // room for short lines
	buf  []byte // read and not yet returned, in base or in a block
	err  error  // that came with the end of buf
}

// A short line is read with others into one buffer; a long one goes straight into
// blocks of its own, each as long as all before, up to maxBlock.
const (
	readBytes = 64 << 10
	maxBlock  = 4 << 20
)

func newLineReader(r io.Reader, max int64) *lineReader {
	return &lineReader{r: r, max: max, base: make([]byte, 0, readBytes)}
}

// next returns the next line that is not blank, without its end. The line is
// the caller's to keep. A last line without a newline counts.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		if line = Trim(line); len(line) > 0 {
			return line, nil
		}
	}
}

// line returns the next line in memory of its own, without room behind it.
func (l *lineReader) line() ([]byte, error) {
	var blocks [][]byte // of a long line, all but the last full
	n := 0              // bytes in them
	for {
		end := bytes.IndexByte(l.buf, '\n')
		rest := len(l.buf)
		if end >= 0 {
			rest = end + 1
		}
		if int64(n+rest) > l.max {
			return nil, l.discard(slices.Concat(blocks...))
		}
		switch {
		case end >= 0 || l.err != nil && n+len(l.buf) > 0:
			line := slices.Concat(append(blocks, l.buf[:rest])...)
			for _, b := range blocks {
				l.free(b)
			}
			if last := l.buf; rest == len(last) {
				l.buf = l.base[:0]
				l.free(last)
			} else {
				l.buf = last[rest:]
			}
			return line, nil
		case l.err != nil:
			return nil, l.err
		}
		// What was read goes to the front of the buffer, or into a block when
		// it fills one.
		if len(l.buf) >= readBytes {
			blocks = append(blocks, l.buf)
			n += len(l.buf)
			l.buf = newBlock(min(n, maxBlock))
		} else if blocks == nil && cap(l.buf)-len(l.buf) < readBytes/2 {
			l.buf = append(l.base[:0], l.buf...)
		}
		l.fill()
	}
}

// spare are blocks by the power of two that they hold. They wait for the next long
// line, of whichever reader, or for the collector.
var spare [32]sync.Pool

// newBlock returns a block with room for n bytes or somewhat more.
func newBlock(n int) []byte {
	class := bits.Len(uint(n - 1))
	if b, ok := spare[class].Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 1<<class)
}

// free gives a block back that nothing points into any more.
func (l *lineReader) free(b []byte) {
	if n := cap(b); n > readBytes/2 && n&(n-1) == 0 && &b[:1][0] != &l.base[:1][0] {
		spare[bits.Len(uint(n-1))].Put(&b)
	}
}

// fill reads more behind what is in the buffer, until a newline or as much as it
// holds.
func (l *lineReader) fill() {
	for empty := 0; l.err == nil && len(l.buf) < cap(l.buf); {
		var m int
		from := len(l.buf)
		m, l.err = l.r.Read(l.buf[from:cap(l.buf)])
		l.buf = l.buf[:from+m]
		if bytes.IndexByte(l.buf[from:], '\n') >= 0 {
			return
		}
		if m == 0 && l.err == nil {
			if empty++; empty == 100 {
				l.err = io.ErrNoProgress
			}
		}
	}
}

// discard reads the rest of a line that outgrew the cap, of which head was taken
// out of the buffer.
func (l *lineReader) discard(head []byte) error {
	over := &OversizeError{Max: l.max}
	over.Head = bytes.Clone(head[:min(len(head), endBytes)])
	take := func(part []byte) {
		over.Size += int64(len(part))
		if room := endBytes - len(over.Head); room > 0 && len(head) < endBytes {
			over.Head = append(over.Head, part[:min(room, len(part))]...)
		}
		over.Tail = append(over.Tail, part[max(0, len(part)-endBytes):]...)
		over.Tail = over.Tail[max(0, len(over.Tail)-endBytes):]
	}
	over.Size = int64(len(head))
	over.Tail = bytes.Clone(head[max(0, len(head)-endBytes):])
	for {
		if end := bytes.IndexByte(l.buf, '\n'); end >= 0 {
			take(l.buf[:end+1])
			l.buf = l.buf[end+1:]
			return over
		}
		take(l.buf)
		l.buf = l.base[:0]
		if l.err != nil {
			return over
		}
		l.fill()
	}
}
