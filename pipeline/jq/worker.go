package jq

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rlmproxy/pipeline/show"
)

// The exit codes of a worker.
const (
	exitOK       = 0
	exitProtocol = 1 // the pool sent what is no frame, or does not read
	exitMemory   = 3 // the ceiling was reached
)

// Worker is the life of a worker process: it answers frames from r on w until
// r ends, and returns the process's exit code. It changes the settings of the
// process and may end it, at any time, so it must have one of its own.
func Worker(r io.Reader, w io.Writer) int {
	time.Local = time.UTC // see clocks
	k := &worker{out: bufio.NewWriterSize(w, 64<<10), exit: os.Exit, confine: confine}
	return k.serve(r)
}

type worker struct {
	exit    func(code int)
	confine func(maxBytes int64)

	answering sync.Mutex // guards out
	out       *bufio.Writer

	maxBytes int64 // the ceiling; zero: none

	mu        sync.Mutex // guards the fields below
	held      []*held    // least recently used first
	running   *held      // or nil
	seq       uint32     // of what is loaded or run now
	cancelled uint32     // the last one that was
	now       *atomic.Bool
}

// held is a tree and its key.
type held struct {
	key  string
	tree *Tree
	maps any // the tree as gojq takes it, if a program needed that; nil: not kept
}

// size is what h takes of memory.
func (h *held) size() int64 {
	if h.maps == nil {
		return h.tree.size
	}
	return h.tree.size + h.tree.mapped
}

// trimAfter is how long a worker waits for the next frame before it gives
// memory that it does not use back to the system.
const trimAfter = 100 * time.Millisecond

func (k *worker) serve(r io.Reader) int {
	frames := make(chan frame)
	ended := make(chan error, 1)
	go k.read(bufio.NewReaderSize(r, 64<<10), frames, ended)
	trim := time.NewTimer(trimAfter)
	for {
		var f frame
		var ok bool
		select {
		case f, ok = <-frames:
		case <-trim.C:
			if k.wasteful() {
				go debug.FreeOSMemory() // the next program need not wait for it
			}
			continue
		}
		if !ok {
			if err := <-ended; err != nil {
				fmt.Fprintln(os.Stderr, "jq-worker:", err)
				return exitProtocol
			}
			return exitOK
		}
		if err := k.answer(f); err != nil {
			fmt.Fprintln(os.Stderr, "jq-worker:", err)
			// What else is sent goes nowhere.
			go func() {
				for range frames {
				}
			}()
			return exitProtocol
		}
		trim.Reset(trimAfter)
	}
}

// wasteful reports whether the process has much more memory than its trees
// need.
func (k *worker) wasteful() bool {
	n := inUse(newSamples()) - 32<<20
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.held {
		n -= h.size() / 4 * 5
	}
	return n > 0
}

// read passes frames on and takes note of those that end what runs. When r
// ends, whatever runs ends with the process.
func (k *worker) read(r io.Reader, frames chan<- frame, ended chan<- error) {
	defer close(frames)
	for {
		f, err := readFrame(r, maxFrame)
		if err != nil {
			if err == io.EOF {
				err = nil
				k.exit(exitOK)
			}
			ended <- err
			return
		}
		if f.kind != frameCancel {
			frames <- f
			continue
		}
		b := reader{f.body, true}
		k.mu.Lock()
		if k.cancelled = b.uint32(); k.now != nil && k.seq == k.cancelled {
			k.now.Store(true)
		}
		k.mu.Unlock()
	}
}

func (k *worker) answer(f frame) error {
	b := reader{f.body, true}
	switch f.kind {
	case frameHello:
		if k.maxBytes = int64(binary.BigEndian.Uint64(b.take(8))); b.ok && k.maxBytes > 0 {
			k.confine(k.maxBytes)
		}
		return nil
	case frameDrop:
		k.drop(string(f.body))
		return nil
	case frameLoad, frameRun:
		s := k.begin(b.uint32())
		defer k.watch()()
		var kind Kind
		if f.kind == frameLoad {
			kind = Kind(b.take(1)[0])
		}
		key := b.key()
		if !b.ok {
			break
		}
		if f.kind == frameLoad {
			return k.load(s, kind, key, b.b)
		}
		return k.run(s, key, string(b.b))
	}
	return fmt.Errorf("no frame: %q of %d bytes", f.kind, len(f.body))
}

func (k *worker) reply(kind byte, parts ...[]byte) error {
	k.answering.Lock()
	defer k.answering.Unlock()
	if err := writeFrame(k.out, kind, parts...); err != nil {
		return err
	}
	return k.out.Flush()
}

// tooMuch ends the process for the memory that it uses. The pool is told
// before, for the system may take a while to clear up.
func (k *worker) tooMuch() {
	if k.answering.TryLock() {
		if writeFrame(k.out, frameTooMuch) == nil {
			_ = k.out.Flush()
		}
	} // else an answer is on its way, and large
	k.exit(exitMemory)
}

// begin numbers what is loaded or run now.
func (k *worker) begin(seq uint32) *stop {
	s := newStop()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seq, k.now, k.running = seq, s.now, nil
	s.now.Store(seq == k.cancelled && seq != 0)
	return s
}

// maxTrees is what trees may take of the ceiling. The rest is for programs.
func (k *worker) maxTrees() int64 { return k.maxBytes / 8 * 5 }

func (k *worker) load(s *stop, kind Kind, key string, data []byte) error {
	limit := k.maxTrees()
	if k.maxBytes == 0 {
		limit = 1 << 62
	}
	tree, err := parse(func() error {
		if s.now.Load() {
			return context.Canceled
		}
		return nil
	}, kind, data, limit)
	if errors.Is(err, errTooLarge) {
		err = k.tooLarge(int64(len(data)))
	}
	if err != nil {
		return k.fail(s, err)
	}
	k.mu.Lock()
	k.remove(key)
	k.makeRoom(tree.size, nil)
	k.held = append(k.held, &held{key: key, tree: tree})
	k.mu.Unlock()
	return k.reply(frameLoaded)
}

func (k *worker) tooLarge(bytes int64) error {
	return &Error{Code: LimitMemory, Text: fmt.Sprintf("jq: the document, %s bytes, does not fit into the %d MiB that jq may use", show.Count(int(bytes)), k.maxBytes>>20),
		Hint: "use fields, offset and limit, or proxy_search, which read it as it stands"}
}

// remove forgets a key. k.mu must be held.
func (k *worker) remove(key string) {
	k.held = slices.DeleteFunc(k.held, func(h *held) bool { return h.key == key })
}

// makeRoom drops trees, the least recently used first, until there is room for
// one of n bytes. k.mu must be held.
func (k *worker) makeRoom(n int64, but *held) {
	if k.maxBytes == 0 {
		return
	}
	for _, h := range k.held {
		n += h.size()
	}
	for i := 0; i < len(k.held) && n > k.maxTrees(); {
		if k.held[i] == but {
			i++
			continue
		}
		n -= k.held[i].size()
		k.held = slices.Delete(k.held, i, i+1)
	}
}

func (k *worker) drop(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(key)
}

// relieve drops every tree but that of the running program.
func (k *worker) relieve() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held = slices.DeleteFunc(k.held, func(h *held) bool { return h != k.running })
}

func (k *worker) run(s *stop, key, source string) error {
	k.mu.Lock()
	at := slices.IndexFunc(k.held, func(h *held) bool { return h.key == key })
	if at < 0 {
		k.mu.Unlock()
		return k.reply(frameMissing)
	}
	h := k.held[at]
	k.held = append(slices.Delete(k.held, at, at+1), h)
	k.running = h
	k.mu.Unlock()
	p, err := compile(source)
	var out Output
	if err == nil {
		out, err = p.safely(s, input{h.tree.value, func() (any, error) { return k.maps(s, p, h) }})
	}
	k.mu.Lock()
	k.running = nil
	if key == "" {
		k.remove("")
	}
	k.mu.Unlock()
	if err != nil {
		return k.fail(s, err)
	}
	return k.reply(frameOutput, number(uint32(out.N)), out.Data)
}

// maps is the tree of h for p in gojq. If p does not write to it, it is kept for
// the next program. Where both are large, the tree is forgotten instead, and p
// has the memory.
func (k *worker) maps(s *stop, p *program, h *held) (any, error) {
	if h.maps != nil && !p.writes {
		return h.maps, nil
	}
	need := h.tree.mapped
	if k.maxBytes > 0 && need > k.maxTrees() {
		return nil, k.tooLarge(h.tree.size)
	}
	k.mu.Lock()
	k.makeRoom(need, h)
	room := k.maxBytes == 0 || h.size()+need <= k.maxTrees()/2
	if !room {
		k.remove(h.key)
	}
	k.mu.Unlock()
	maps, err := h.tree.maps(s)
	switch {
	case err != nil:
	case !room:
		h.tree = nil
	case !p.writes:
		k.mu.Lock()
		h.maps = maps
		k.mu.Unlock()
	}
	return maps, err
}

// failure is an Error on its way.
type failure struct {
	Code string `json:"code"`
	Text string `json:"text"`
	Hint string `json:"hint"`
}

func (k *worker) fail(s *stop, err error) error {
	if errors.Is(err, context.Canceled) && s.now.Load() {
		return k.reply(frameCancelled)
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Code: Bad, Text: show.ClipBytes(err.Error(), 300)}
	} else if e.Text == brokeText {
		fmt.Fprintln(os.Stderr, "jq-worker:", show.ClipBytes(e.Err.Error(), 4000))
	}
	body, err := json.Marshal(failure{e.Code, e.Text, e.Hint})
	if err != nil {
		return err
	}
	return k.reply(frameError, body)
}
