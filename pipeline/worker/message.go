package worker

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"io"
	"time"

	"rlmproxy/pipeline/doc"
)

// The pool tells a worker its settings, then requests, one task at a time. Data follows its
// message as it is, without a copy.
type settings struct {
	MaxBytes int64         // the ceiling of memory
	Idle     time.Duration // without a request for so long, the worker ends
}

// A request is what the pool wants of a worker.
type request struct {
	What requested
	Key  Key
	Head []byte
	// Limit of the time that the task may take without waiting, after which it is told. Zero:
	// none.
	Limit time.Duration
	Load  bool // data follows, in Size bytes
	Size  int

	data []byte
}

type requested byte

const (
	do     requested = iota // a task
	reply                   // the answer to what the task has asked
	forget                  // what is kept of Key.Agent
)

// An answer is what a worker says while it does a task. Data follows in Size bytes.
type answer struct {
	What    answered
	Head    []byte
	Size    int
	Failure *doc.Error // of done, without its Err
	Ends    bool       // of done: the ceiling of memory is reached, and the worker ends now
	Holds   []Key      // of done: what the worker keeps
}

type answered byte

const (
	done answered = iota
	asks          // it waits for the reply
	says
)

const (
	// maxDataBytes bounds what a worker sends at once, maxLoadBytes what it is sent.
	maxDataBytes = 33 << 20
	maxLoadBytes = 1 << 30
	// maxMessageBytes bounds a message without its data. What is longest in one is a program.
	maxMessageBytes = 1 << 20
)

// A wire carries messages between pool and worker.
type wire struct {
	in  *bounded // the decoder takes no more from it than it needs
	dec *gob.Decoder
	out *bufio.Writer
	enc *gob.Encoder
}

func newWire(r io.Reader, w io.Writer) *wire {
	in, out := &bounded{Reader: bufio.NewReaderSize(r, 64<<10)}, bufio.NewWriterSize(w, 64<<10)
	return &wire{in, gob.NewDecoder(in), out, gob.NewEncoder(out)}
}

func (w *wire) send(message any, data []byte) error {
	if err := w.enc.Encode(message); err != nil {
		return err
	}
	if _, err := w.out.Write(data); err != nil {
		return err
	}
	return w.out.Flush()
}

func (w *wire) receive(message any) error {
	w.in.left = maxMessageBytes
	return w.dec.Decode(message)
}

// request receives a request with its data, of which limit bytes are allowed.
func (w *wire) request(limit int) (req request, err error) {
	err = w.receive(&req)
	if err == nil && req.Load {
		req.data, err = w.data(req.Size, limit)
	}
	return req, err
}

// A bounded reader has so much left for a decoder, which would take a message of gigabytes.
type bounded struct {
	*bufio.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("worker: message of more than %d bytes", maxMessageBytes)
	}
	n, err := b.Reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// data reads n bytes that follow a message.
func (w *wire) data(n, limit int) ([]byte, error) {
	if n < 0 || n > limit {
		return nil, fmt.Errorf("worker: message of %d bytes, %d are allowed", n, limit)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(w.in.Reader, b)
	return b, err
}
