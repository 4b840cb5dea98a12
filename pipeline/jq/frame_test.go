package jq

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"testing"
	"time"
)

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func frames(fs ...frame) []byte {
	var b bytes.Buffer
	for _, f := range fs {
		if err := writeFrame(&b, f.kind, f.body); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

func loadFrame(seq uint32, kind Kind, key, doc string) frame {
	return frame{frameLoad, bytes.Join([][]byte{number(seq), {byte(kind)}, keyed(key), []byte(doc)}, nil)}
}

func runFrame(seq uint32, key, program string) frame {
	return frame{frameRun, bytes.Join([][]byte{number(seq), keyed(key), []byte(program)}, nil)}
}

// serveTest is a worker in this process, which it neither confines nor ends.
func serveTest(r io.Reader, w io.Writer) int {
	k := &worker{out: bufio.NewWriter(w), exit: func(int) {}, confine: func(int64) {}}
	return k.serve(r)
}

func TestWorkerAnswers(t *testing.T) {
	var out bytes.Buffer
	in := frames(
		loadFrame(1, JSON, "k", "[1]"), runFrame(2, "k", ".[0]"), runFrame(3, "other", "."),
		frame{frameCancel, number(4)}, runFrame(4, "k", "last(repeat(.))"), runFrame(5, "k", ".["),
		loadFrame(6, Lines, "", "1\n2\n"), runFrame(7, "", "del(.[0])"), runFrame(8, "", "."),
		frame{frameDrop, []byte("k")}, runFrame(9, "k", "."), loadFrame(10, JSON, "k", "[1"), loadFrame(11, 9, "k", "[1]"))
	if code := serveTest(bytes.NewReader(in), &out); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	var got string
	for out.Len() > 0 {
		f, err := readFrame(&out, maxReply)
		if err != nil {
			t.Fatal(err)
		}
		got += string(f.kind)
	}
	if want := "lomcelommee"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// FuzzWorker: no bytes break a worker. It answers or ends.
func FuzzWorker(f *testing.F) {
	f.Add(frames(loadFrame(1, JSON, "k", `{"a":[1,2]}`), runFrame(2, "k", ".a")))
	f.Add(frames(frame{frameHello, make([]byte, 8)}, frame{frameDrop, []byte("k")}, frame{frameCancel, nil}))
	f.Add([]byte("R\xff\xff\xff\xff"))
	f.Add([]byte("L\x00\x00\x00\x04\x00\x00\x00\x01"))
	f.Add([]byte("H\x00\x00\x00\x08\x00\x00\x00\x00\x10\x00\x00\x00"))
	f.Add(append(frames(loadFrame(1, 7, "k", "1")), "R\x3f\xff\xff\xff"...))
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 80 {
			return // long enough for a program that takes long, which is no fault of the protocol
		}
		done := make(chan int, 1)
		go func() { done <- serveTest(bytes.NewReader(in), io.Discard) }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("%q: no end", in)
		}
	})
}

// FuzzPool: no answer of a worker breaks the pool.
func FuzzPool(f *testing.F) {
	f.Add(frames(frame{frameLoaded, nil}, frame{frameOutput, append(number(1), "1\n"...)}))
	f.Add(frames(frame{frameLoaded, nil}, frame{frameMissing, nil}, frame{frameLoaded, nil}, frame{frameMissing, nil}))
	f.Add(frames(frame{frameError, []byte(`{"code":"bad_jq","text":"x"}`)}))
	f.Add(frames(frame{frameError, []byte(`{}`)}, frame{frameTooMuch, nil}))
	f.Add(frames(frame{frameLoaded, nil}, frame{frameOutput, []byte("\x00")}))
	f.Add(frames(frame{frameLoaded, nil}, frame{frameOutput, []byte("\xff\xff\xff\xff")}))
	f.Add([]byte("l\xff\xff\xff\xff"))
	f.Add([]byte("c\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, answers []byte) {
		stdin, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer stdin.Close()
		w := &process{stdin: stdin, in: bufio.NewReader(bytes.NewReader(answers)), holds: map[string]bool{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out, err := w.query(ctx, number(1), "k", Query{Kind: JSON, Data: []byte("1"), Program: "."})
		if err == nil && (out.N > maxOutputs || len(out.Data) > maxReply) {
			t.Errorf("%d outputs in %d bytes", out.N, len(out.Data))
		}
	})
}
