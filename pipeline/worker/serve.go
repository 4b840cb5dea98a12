package worker

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// The exit codes of a worker.
const (
	exitOK       = 0
	exitProtocol = 1 // the pool sent what is no message, or does not read
	exitMemory   = 3 // the ceiling was reached
)

// trimAfter is how long a worker waits for the next request before it gives memory that it
// does not use back to the system.
const trimAfter = time.Second

// Serve is the life of a worker process: it answers requests from r on w and
// returns the exit code of the process. It changes the settings of the process
// and ends it when r ends, so it must have one of its own. Language is told the ceiling of
// memory.
func Serve(r io.Reader, w io.Writer, language func(maxBytes int64) Language) int {
	time.Local = time.UTC // the same task must have the same answer anywhere
	k := &process{wire: newWire(r, w), replies: make(chan []byte, 1)}
	var s settings
	if err := k.wire.receive(&s); err != nil {
		return exitProtocol
	}
	k.maxBytes = s.MaxBytes
	confine(s.MaxBytes)
	k.language = language(s.MaxBytes)
	requests := make(chan request)
	go k.read(requests)
	idle := time.NewTimer(s.Idle)
	trim := time.NewTimer(trimAfter)
	for {
		select {
		case req := <-requests:
			if err := k.handle(req); err != nil {
				fmt.Fprintln(os.Stderr, "worker:", err)
				return exitProtocol
			}
			idle.Reset(s.Idle)
			trim.Reset(trimAfter)
		case <-trim.C:
			go debug.FreeOSMemory() // the next task need not wait for it
		case <-idle.C:
			return exitOK
		}
	}
}

// A process is this one, as a worker.
type process struct {
	maxBytes int64
	language Language
	replies  chan []byte
	waits    atomic.Bool // for a reply
	clock    *clock      // of the task

	sending sync.Mutex // guards writing to wire
	wire    *wire
}

// read passes requests on. When there are no more, the pool is gone, and whatever
// runs ends with the process.
func (k *process) read(requests chan<- request) {
	for {
		req, err := k.wire.request(maxLoadBytes)
		switch {
		case err == io.EOF:
			os.Exit(exitOK)
		case err != nil:
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(exitProtocol)
		}
		if req.What == reply {
			k.replies <- req.data
		} else {
			requests <- req
		}
	}
}

func (k *process) handle(req request) error {
	if req.What == forget {
		k.language.Forget(req.Key.Agent)
		return nil
	}
	k.tidy()
	ended := k.watch()
	k.clock = newClock(req.Limit, k.language.Late)
	out, failure := k.language.Do(&Work{Key: req.Key, Head: req.Head, Data: req.data, Loaded: req.Load, process: k})
	k.clock.stop()
	ended()
	a := answer{Head: out.Head, Size: len(out.Data), Holds: k.language.Holds()}
	if failure != nil {
		sent := *failure
		sent.Err, a.Failure = nil, &sent
	}
	return k.send(a, out.Data)
}

func (k *process) send(a answer, data []byte) error {
	k.sending.Lock()
	defer k.sending.Unlock()
	return k.wire.send(a, data)
}

// Ask has the host of the task answer a question, and waits. Without an error: when the
// pool is gone, the process ends.
func (w *Work) Ask(question []byte) []byte {
	k := w.process
	k.clock.pause()
	k.waits.Store(true)
	defer func() {
		k.waits.Store(false)
		k.clock.goOn()
	}()
	k.say(answer{What: asks, Size: len(question)}, question)
	return <-k.replies
}

// Tell says something to the host of the task.
func (w *Work) Tell(said []byte) {
	w.process.say(answer{What: says, Size: len(said)}, said)
}

func (k *process) say(a answer, data []byte) {
	if err := k.send(a, data); err != nil {
		os.Exit(exitProtocol)
	}
}

// tooMuch ends the process for the memory that it uses. It tells the pool first,
// for the system may take a while to clear up.
func (k *process) tooMuch() {
	if k.sending.TryLock() { // else an answer is on its way, and large
		_ = k.wire.send(answer{Ends: true}, nil)
	}
	os.Exit(exitMemory)
}
