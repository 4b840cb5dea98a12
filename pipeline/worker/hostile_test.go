package worker

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"rlmproxy/pipeline/doc"
)

// A counting reader is zeros without end, after some bytes.
type counting struct {
	first io.Reader
	read  int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.first.Read(p)
	if err != nil {
		clear(p)
		n = len(p)
	}
	c.read += n
	if c.read > 64<<20 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

// TestEndlessMessage: of a message of gigabytes no more is read than one may have.
func TestEndlessMessage(t *testing.T) {
	from := &counting{first: bytes.NewReader([]byte{0xfc, 0x7f, 0, 0, 0})} // its length, as gob has it
	if err := newWire(from, io.Discard).receive(new(answer)); err == nil || from.read > 2*maxMessageBytes {
		t.Errorf("%d bytes were read: %v", from.read, err)
	}
}

// TestImpossibleData: data of a length that no process has room for is refused.
func TestImpossibleData(t *testing.T) {
	for _, size := range []int{-1, maxLoadBytes + 1, 1 << 62} {
		var sent bytes.Buffer
		if err := newWire(nil, &sent).send(request{Load: true, Size: size}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := newWire(&sent, io.Discard).request(maxLoadBytes); err == nil {
			t.Errorf("%d bytes were taken", size)
		}
	}
}

// quiet answers whatever it is asked.
type quiet struct{ asked, told int }

func (q *quiet) Ask(context.Context, []byte) ([]byte, error) {
	if q.asked++; q.asked > 100 {
		return nil, errors.New("enough")
	}
	return []byte("x"), nil
}

func (q *quiet) Tell(said []byte) { q.told += len(said) }

// said is what a worker says that sends these.
func said(messages ...answer) []byte {
	var out bytes.Buffer
	w := newWire(nil, &out)
	for _, m := range messages {
		if err := w.send(m, make([]byte, max(m.Size, 0)%100)); err != nil {
			panic(err)
		}
	}
	return out.Bytes()
}

// FuzzWorkerSays: whatever a worker says while it has a task, it is an answer or an error.
func FuzzWorkerSays(f *testing.F) {
	f.Add(said(answer{Head: []byte("h"), Size: 3}))
	f.Add(said(answer{What: says, Size: 5}, answer{What: asks, Size: 2}, answer{What: done, Failure: &doc.Error{Code: "c", Text: "t"}}))
	f.Add(said(answer{What: asks, Size: 99}, answer{Ends: true}))
	f.Add(said(answer{What: 9, Size: -1, Holds: []Key{{"a", "b"}}}))
	f.Add([]byte{0xfc, 0x7f, 0, 0, 0, 1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, heard []byte) {
		w := &child{
			cmd: &exec.Cmd{Process: &os.Process{Pid: -1}}, wire: newWire(bytes.NewReader(heard), io.Discard),
			exited: make(chan struct{}), holds: map[Key]bool{},
		}
		host := &quiet{}
		c := newClock(0, nil)
		out, err := w.run(t.Context(), Task{Agent: "a", Data: []byte("d"), Host: host}, c)
		if err == nil && (len(out.Data) > len(heard) || len(out.Head) > len(heard)) || host.told > len(heard) {
			t.Errorf("%d bytes became %d and %d, %d told", len(heard), len(out.Data), len(out.Head), host.told)
		}
	})
}

// FuzzPoolSays: whatever a worker is sent, it is a request or an error.
func FuzzPoolSays(f *testing.F) {
	for _, r := range []request{{Key: Key{"a", "k"}, Head: []byte("h"), Load: true, Size: 3}, {What: reply, Load: true, Size: 1}, {What: forget}, {Load: true, Size: -1}} {
		var out bytes.Buffer
		if err := newWire(nil, &out).send(r, []byte("abc")); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	var types bytes.Buffer
	if err := gob.NewEncoder(&types).Encode(map[string][]any{}); err == nil {
		f.Add(types.Bytes())
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		w := newWire(bytes.NewReader(sent), io.Discard)
		for range len(sent) + 1 { // each takes a byte at least
			req, err := w.request(1 << 20)
			if err != nil {
				return
			}
			if len(req.data) > len(sent) || len(req.Head) > len(sent) {
				t.Errorf("%d bytes became %d and %d", len(sent), len(req.data), len(req.Head))
			}
		}
		t.Error("it does not end")
	})
}
