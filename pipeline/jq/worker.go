package jq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// The exit codes of a worker.
const (
	exitOK       = 0
	exitProtocol = 1 // the pool sent what is no message, or does not read
	exitMemory   = 3 // the ceiling was reached
)

const (
	// maxTrees is how many trees a worker keeps.
	maxTrees = 64
	// growth is what a tree takes of memory, as a multiple of its document: 3 to
	// 6 for records as servers send them.
	growth = 6
	// trimAfter is how long a worker waits for the next request before it gives
	// memory that it does not use back to the system.
	trimAfter = time.Second
)

// Worker is the life of a worker process: it answers requests from r on w and
// returns the exit code of the process. It changes the settings of the process
// and ends it when r ends, so it must have one of its own.
func Worker(r io.Reader, w io.Writer) int {
	time.Local = time.UTC // see forbidden
	k := &worker{wire: newWire(r, w)}
	var s settings
	if err := k.wire.receive(&s); err != nil {
		return exitProtocol
	}
	k.maxBytes = s.MaxBytes
	confine(s.MaxBytes)
	requests := make(chan request)
	go k.read(requests)
	idle := time.NewTimer(s.Idle)
	trim := time.NewTimer(trimAfter)
	for {
		select {
		case req := <-requests:
			if err := k.handle(req); err != nil {
				fmt.Fprintln(os.Stderr, "jq-worker:", err)
				return exitProtocol
			}
			idle.Reset(s.Idle)
			trim.Reset(trimAfter)
		case <-trim.C:
			go debug.FreeOSMemory() // the next program need not wait for it
		case <-idle.C:
			return exitOK
		}
	}
}

type worker struct {
	maxBytes int64

	sending sync.Mutex // guards writing to wire
	wire    *wire

	mu    sync.Mutex // guards the fields below
	trees []*tree    // least recently used first
	inUse treeKey    // the document of the current request
}

// A tree is a document, parsed. No program changes it.
type tree struct {
	key      treeKey
	document any
	size     int64 // bytes of memory, estimated
}

// read passes requests on. When there are no more, the pool is gone, and whatever
// runs ends with the process.
func (k *worker) read(requests chan<- request) {
	for {
		var req request
		err := k.wire.receive(&req)
		if err == nil && req.Load {
			req.data, err = k.wire.data(req.Size, math.MaxInt)
		}
		switch {
		case err == io.EOF:
			os.Exit(exitOK)
		case err != nil:
			fmt.Fprintln(os.Stderr, "jq-worker:", err)
			os.Exit(exitProtocol)
		}
		requests <- req
	}
}

func (k *worker) handle(req request) error {
	if req.Forget {
		k.drop(func(t *tree) bool { return t.key.Agent == req.Document.Agent })
		return nil
	}
	k.mu.Lock()
	k.inUse = req.Document
	k.mu.Unlock()
	k.tidy()
	done := k.watch()
	out, err := k.run(req)
	done()
	k.drop(func(t *tree) bool { return t.key.Key == "" })
	a := answer{Outputs: out.N, Size: len(out.Data), Failure: sendable(err)}
	k.mu.Lock()
	for _, t := range k.trees {
		a.Holds = append(a.Holds, t.key)
	}
	k.mu.Unlock()
	k.sending.Lock()
	defer k.sending.Unlock()
	return k.wire.send(a, out.Data)
}

// run runs a program over the document that came with it, or over a kept tree.
func (k *worker) run(req request) (Output, error) {
	if req.Load {
		if err := k.load(req.Document, req.Kind, req.data); err != nil {
			return Output{}, err
		}
		req.data = nil // the tree has what it needs
	}
	p, err := compile(req.Program)
	if err != nil {
		return Output{}, err
	}
	document, err := k.use(req.Document, p.writes)
	if err != nil {
		return Output{}, err
	}
	return p.safely(context.Background(), document)
}

// load parses a document and keeps its tree. It makes room for it first.
func (k *worker) load(key treeKey, kind Kind, data []byte) error {
	size := int64(len(data))
	if kind != Text {
		size *= growth
	}
	k.drop(func(t *tree) bool { return t.key == key })
	k.mu.Lock()
	total := size
	for _, t := range k.trees {
		total += t.size
	}
	for len(k.trees) > 0 && (total > k.maxBytes/2 || len(k.trees) >= maxTrees) {
		total -= k.trees[0].size
		k.trees = slices.Delete(k.trees, 0, 1)
	}
	k.mu.Unlock()
	document, err := parse(kind, data)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trees = append(k.trees, &tree{key, document, size})
	return nil
}

// use returns the document of a tree and notes that it was used last. A program
// that writes has the document for itself: the tree is not kept then.
func (k *worker) use(key treeKey, writes bool) (any, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.trees, func(t *tree) bool { return t.key == key })
	if i < 0 {
		return nil, errors.New("jq: the worker has no such document")
	}
	t := k.trees[i]
	k.trees = slices.Delete(k.trees, i, i+1)
	if !writes {
		k.trees = append(k.trees, t)
	}
	return t.document, nil
}

func (k *worker) drop(which func(*tree) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trees = slices.DeleteFunc(k.trees, which)
}

// relieve drops every tree but that of the running program.
func (k *worker) relieve() { k.drop(func(t *tree) bool { return t.key != k.inUse }) }

// tooMuch ends the process for the memory that it uses. It tells the pool first,
// for the system may take a while to clear up.
func (k *worker) tooMuch() {
	if k.sending.TryLock() { // else an answer is on its way, and large
		_ = k.wire.send(answer{Failure: memoryError(k.maxBytes), Ends: true}, nil)
	}
	os.Exit(exitMemory)
}

func memoryError(maxBytes int64) *Error {
	return &Error{Code: doc.LimitMemory, Text: fmt.Sprintf("jq: document and program took more than %d MiB of memory", maxBytes>>20),
		Hint: "select fewer records and fields first, and output less; fields, offset and limit, and proxy_search take less memory"}
}

// sendable is err as an answer has it.
func sendable(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Code: doc.BadJQ, Text: show.ClipBytes(err.Error(), 300)}
	} else if e.Text == brokeText {
		fmt.Fprintln(os.Stderr, "jq-worker:", show.ClipBytes(e.Err.Error(), 4000))
	}
	sent := *e
	sent.Err = nil
	return &sent
}
