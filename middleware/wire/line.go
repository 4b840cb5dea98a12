package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
)

// endBytes is how much of an oversized line is kept from each end: enough to
// find the message's id, which servers write first or last.
const endBytes = 4 << 10

// An OversizeError reports a line over the cap. The line was read to its end
// and thrown away, so the stream goes on with the next one.
type OversizeError struct {
	Size, Max  int64  // bytes
	Head, Tail []byte // the line's ends
}

func (e *OversizeError) Error() string {
	return fmt.Sprintf("message of %d bytes is over the limit of %d", e.Size, e.Max)
}

var (
	headID = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]{1,64}"|-?\d{1,18})\s*,`)
	tailID = regexp.MustCompile(`,\s*"id"\s*:\s*("[^"\\]{1,64}"|-?\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// guessID returns the id, as written, of a message of which only the ends are
// readable, or nil. The worst a wrong guess does is to fail another call of the
// peer that sent the message.
func guessID(head, tail []byte) []byte {
	if m := headID.FindSubmatch(head); m != nil {
		return m[1]
	}
	if m := tailID.FindSubmatch(tail); m != nil {
		return m[1]
	}
	return nil
}

// A lineReader reads newline-delimited messages of at most max bytes.
type lineReader struct {
	r   *bufio.Reader
	max int64
}

func newLineReader(r io.Reader, max int64) *lineReader {
	return &lineReader{bufio.NewReaderSize(r, 64<<10), max}
}

// next returns the next line that is not blank, without its end. The line is
// the caller's to keep. A last line without a newline counts.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// maxBlock is the largest piece in which a long line is read.
const maxBlock = 4 << 20

// line reads a long line in pieces and joins them: a line that is kept has no
// room behind it, and less is allocated than in a buffer that doubles.
func (l *lineReader) line() ([]byte, error) {
	var before [][]byte // pieces of the line that are full
	var line []byte
	n := 0 // bytes of all
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && n+len(part) > 0:
		default:
			return nil, err
		}
		if int64(n+len(part)) > l.max {
			return nil, l.discard(slices.Concat(append(before, line)...), part, err)
		}
		if len(line)+len(part) > cap(line) {
			if line != nil {
				before = append(before, line)
			}
			line = make([]byte, 0, max(len(part), min(n, maxBlock)))
		}
		line = append(line, part...)
		n += len(part)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case before == nil:
			return line, nil
		default:
			return slices.Concat(append(before, line)...), nil
		}
	}
}

// discard reads the rest of a line that outgrew the cap. err is what came with
// part: only a full buffer means that there is more.
func (l *lineReader) discard(line, part []byte, err error) error {
	over := &OversizeError{Size: int64(len(line) + len(part)), Max: l.max}
	all := append(line, part...)
	over.Head = bytes.Clone(all[:min(len(all), endBytes)])
	over.Tail = bytes.Clone(all[max(0, len(all)-endBytes):])
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = l.r.ReadSlice('\n')
		over.Size += int64(len(part))
		over.Tail = append(over.Tail, part...)
		if n := len(over.Tail); n > endBytes {
			over.Tail = append(over.Tail[:0], over.Tail[n-endBytes:]...)
		}
	}
	return over
}
