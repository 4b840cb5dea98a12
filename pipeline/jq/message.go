package jq

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"io"
	"time"
)

// The pool tells a worker its settings, then requests, one at a time. The worker
// answers those that have a program. Documents and outputs follow their message
// as they are, without a copy.
type settings struct {
	MaxBytes int64         // the ceiling of memory
	Idle     time.Duration // without a request for so long, the worker ends
}

// A treeKey names a document.
type treeKey struct{ Agent, Key string }

// A request is a program to run, or an agent whose trees to forget.
type request struct {
	Forget   bool    // all trees of Document.Agent; nothing else counts
	Document treeKey // without a Key: the tree is not kept
	Program  string

	Load bool // the document follows, in Size bytes
	Kind Kind
	Size int

	data []byte
}

// An answer is the outputs of a program, which follow in Size bytes, or why there
// are none.
type answer struct {
	Outputs int
	Size    int
	Failure *Error    // without its Err
	Ends    bool      // the worker ends now
	Holds   []treeKey // the trees that the worker has
}

// A wire carries messages between pool and worker.
type wire struct {
	in  *bufio.Reader // the decoder takes no more from it than it needs
	dec *gob.Decoder
	out *bufio.Writer
	enc *gob.Encoder
}

func newWire(r io.Reader, w io.Writer) *wire {
	in, out := bufio.NewReaderSize(r, 64<<10), bufio.NewWriterSize(w, 64<<10)
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

func (w *wire) receive(message any) error { return w.dec.Decode(message) }

// data reads n bytes that follow a message.
func (w *wire) data(n, limit int) ([]byte, error) {
	if n < 0 || n > limit {
		return nil, fmt.Errorf("jq: message of %d bytes, %d are allowed", n, limit)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(w.in, b)
	return b, err
}
