package jq

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A frame is one message between pool and worker: its type, four bytes of
// length, big-endian, and the body. The pool sends
//
//	H  ceiling (8 bytes)                            first
//	L  seq (4), kind (1), len (2), key, document    answered with l, c or e
//	R  seq (4), len (2), key, program               answered with o, m, c or e
//	D  key                                          forget it
//	C  seq (4)                                      end the load or run of that number
//
// and the worker
//
//	l                     loaded
//	o  n (4), outputs     the program's
//	m                     the tree of that key is not here: load it
//	c                     ended as asked
//	x                     the ceiling was reached; the process ends
//	e  JSON               an Error
//
// A document with an empty key is good for the next program only.
type frame struct {
	kind byte
	body []byte
}

const (
	frameHello  = 'H'
	frameLoad   = 'L'
	frameRun    = 'R'
	frameDrop   = 'D'
	frameCancel = 'C'

	frameLoaded    = 'l'
	frameOutput    = 'o'
	frameMissing   = 'm'
	frameCancelled = 'c'
	frameTooMuch   = 'x'
	frameError     = 'e'

	maxFrame  = 1<<30 + 1<<20 // to a worker: the longest message that can be configured
	maxReply  = maxOutputBytes + 64
	maxKey    = 1<<16 - 1
	frameStep = 64 << 20 // memory is taken in such steps, for a length may lie
)

// readFrame reads a frame with a body of at most limit bytes. The error is
// io.EOF only where a frame could begin.
func readFrame(r io.Reader, limit int) (frame, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	n := int(binary.BigEndian.Uint32(head[1:]))
	if n > limit || n < 0 {
		return frame{}, fmt.Errorf("jq: frame %q of %d bytes, %d are allowed", head[0], n, limit)
	}
	body := make([]byte, min(n, frameStep))
	for read := 0; ; {
		if _, err := io.ReadFull(r, body[read:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return frame{}, err
		}
		if read = len(body); read == n {
			return frame{head[0], body}, nil
		}
		body = append(body, make([]byte, min(n-read, max(read, frameStep)))...)
	}
}

// writeFrame writes the parts as one body.
func writeFrame(w io.Writer, kind byte, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(n))
	// Small parts go in one write.
	for _, p := range parts {
		if len(head)+len(p) <= 4096 {
			head = append(head, p...)
			continue
		}
		if _, err := w.Write(head); err != nil {
			return err
		}
		head = head[:0]
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	if len(head) == 0 {
		return nil
	}
	_, err := w.Write(head)
	return err
}

// A reader takes a body apart. What is not there is zero, and ok turns false.
type reader struct {
	b  []byte
	ok bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.ok, r.b = false, nil
		return make([]byte, min(n, 8))
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) uint32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }

func (r *reader) key() string { return string(r.take(int(binary.BigEndian.Uint16(r.take(2))))) }

// keyed is a key as L and R have it. It is shorter than maxKey.
func keyed(key string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(key))), key...)
}

func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
