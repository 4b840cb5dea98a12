package jq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/worker"
)

const (
	// maxTrees is how many trees a worker keeps.
	maxTrees = 64
	// growth is what a tree takes of memory, as a multiple of its document: 3 to
	// 6 for records as servers send them.
	growth = 6
)

// Worker is the life of a worker process of a [Pool], see [worker.Serve].
func Worker(r io.Reader, w io.Writer) int {
	return worker.Serve(r, w, func(maxBytes int64) worker.Language { return &language{maxBytes: maxBytes} })
}

// A language runs programs over trees that it keeps, in a worker process.
type language struct {
	maxBytes int64

	mu    sync.Mutex // guards the fields below
	trees []*tree    // least recently used first
	inUse worker.Key // the document of the current task
}

var _ worker.Language = (*language)(nil)

// A tree is a document, parsed. No program changes it.
type tree struct {
	key      worker.Key
	document any
	size     int64 // bytes of memory, estimated
}

// Do implements [worker.Language]. The head of a task is how its document is read, a byte, and
// the program; that of an answer is how many values were put out.
func (k *language) Do(w *worker.Work) (worker.Answer, *doc.Error) {
	k.mu.Lock()
	k.inUse = w.Key
	k.mu.Unlock()
	out, err := k.run(w)
	k.drop(func(t *tree) bool { return t.key.Key == "" })
	return worker.Answer{Head: strconv.AppendInt(nil, int64(out.N), 10), Data: out.Data}, sendable(err)
}

// Holds implements [worker.Language].
func (k *language) Holds() (keys []worker.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.trees {
		keys = append(keys, t.key)
	}
	return keys
}

// Forget implements [worker.Language].
func (k *language) Forget(agent string) {
	k.drop(func(t *tree) bool { return t.key.Agent == agent })
}

// Relieve implements [worker.Language]: it drops every tree but that of the running program.
func (k *language) Relieve() { k.drop(func(t *tree) bool { return t.key != k.inUse }) }

// Late implements [worker.Language]. Programs have no limit but that of their ctx.
func (k *language) Late() {}

// run runs a program over the document that came with it, or over a kept tree.
func (k *language) run(w *worker.Work) (Output, error) {
	if len(w.Head) == 0 {
		return Output{}, errors.New("jq: the task has no program")
	}
	if w.Loaded {
		if err := k.load(w.Key, Kind(w.Head[0]), w.Data); err != nil {
			return Output{}, err
		}
		w.Data = nil // the tree has what it needs
	}
	p, err := compile(string(w.Head[1:]))
	if err != nil {
		return Output{}, err
	}
	document, err := k.use(w.Key, p.writes)
	if err != nil {
		return Output{}, err
	}
	return p.safely(context.Background(), document)
}

// load parses a document and keeps its tree. It makes room for it first.
func (k *language) load(key worker.Key, kind Kind, data []byte) error {
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
func (k *language) use(key worker.Key, writes bool) (any, error) {
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

func (k *language) drop(which func(*tree) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trees = slices.DeleteFunc(k.trees, which)
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
