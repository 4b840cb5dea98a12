package jq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"sync"
	"time"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// Options configures a [Pool]. The zero value is ready to use.
type Options struct {
	// Command makes the command of a worker, which calls [Worker] with its
	// stdin and stdout. A nil Env becomes an empty one. Nil means this
	// executable with the argument jq-worker.
	Command func() (*exec.Cmd, error)
	// Workers run at a time, two at least. Zero means two.
	Workers int
	// MaxBytes is the ceiling of one worker's memory. Zero means 768 MiB, which
	// a document of 64 MiB needs.
	MaxBytes int64
	// Idle is after how long an idle worker ends. Zero means five minutes.
	Idle time.Duration
	// Logger receives what workers write to stderr and how they end. Nil
	// discards it.
	Logger *slog.Logger
}

// A Query is a program and what it is for.
type Query struct {
	// Agent is whose it is. No agent has all workers at a time.
	Agent string
	// Key names the document among the agent's: the same key, the same Kind
	// and Data. Empty: the tree is not kept.
	Key     string
	Kind    Kind
	Data    []byte
	Program string
}

// A Pool runs programs in worker processes. Workers start when they are needed
// and keep the trees of documents for later programs. Of one that ended for
// whatever reason nothing is lost but time. It is safe for concurrent use.
type Pool struct {
	opts Options

	mu      sync.Mutex // guards the fields below
	slots   []*slot
	waiting []*waiter            // first come, first
	slow    map[string]time.Time // agents whose programs took long lately, and until when that counts
	look    *time.Timer          // of dispatch, for a program that is to make room; or nil
	closed  bool
	ending  sync.WaitGroup // processes that have not ended
}

// A slot has a worker, or room for one. While a query has the slot, it may use
// the process without Pool.mu.
type slot struct {
	process *process  // nil: none was started yet
	busy    bool      // a query has it, or its killed process has not ended
	agent   string    // whose program runs, or ran last
	since   time.Time // when it began
	ousted  bool      // it makes room for another agent's, and begins anew
	forget  []string  // agents that went while the slot was busy
}

// A waiter is a query that waits for a slot.
type waiter struct {
	document treeKey
	given    chan *slot // has room for one; closed with the pool
}

// NewPool returns a pool without a process yet.
func NewPool(opts Options) *Pool {
	if opts.Command == nil {
		opts.Command = ownCommand
	}
	opts.Workers = max(opts.Workers, 2)
	if opts.MaxBytes == 0 {
		opts.MaxBytes = 768 << 20
	}
	if opts.Idle == 0 {
		opts.Idle = 5 * time.Minute
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Pool{opts: opts, slow: map[string]time.Time{}}
	for range opts.Workers {
		p.slots = append(p.slots, &slot{})
	}
	return p
}

// ErrClosed is the error of a closed pool.
var ErrClosed = errors.New("jq: the pool is closed")

// Run runs q. It returns soon after the end of ctx, for the worker is killed then;
// an expired deadline is an [*Error] with code limit_time, as are a program that
// does not compile or fails, bad_jq, and one that needs too much memory or stack,
// limit_memory. Other errors are that of a cancelled ctx, [ErrClosed], and ours.
func (p *Pool) Run(ctx context.Context, q Query) (Output, error) {
	if err := checkSize(q.Program); err != nil {
		return Output{}, err
	}
	for retried := false; ; {
		s, err := p.acquire(ctx, treeKey{q.Agent, q.Key})
		if err != nil {
			return Output{}, err
		}
		out, err := p.runOn(ctx, s, q)
		ousted := p.release(s)
		var died *deathError
		switch {
		case !errors.As(err, &died):
			return out, err
		case ousted:
			continue
		case died.why == nil && !retried:
			retried = true
			continue // an idle worker may have ended just then
		}
		p.opts.Logger.Warn("a jq worker ended while it ran a program; the next program starts another", "agent", q.Agent, "program", show.ClipBytes(q.Program, 200), "cause", died.err)
		if died.why != nil {
			return Output{}, died.why
		}
		return Output{}, &Error{Code: doc.BadJQ, Text: "jq: the worker ended twice while it ran the program", Hint: "write it differently, or select less", Err: died.err}
	}
}

// runOn runs q on the worker of s, which it starts if there is none.
func (p *Pool) runOn(ctx context.Context, s *slot, q Query) (Output, error) {
	p.mu.Lock()
	w, closed := s.process, p.closed
	if !closed && (w == nil || w.hasExited()) {
		if w != nil {
			w.stdout.Close()
		}
		var err error
		if w, err = start(p.opts); err != nil {
			p.mu.Unlock()
			return Output{}, fmt.Errorf("jq: start a worker: %w", err)
		}
		s.process = w
		p.ending.Go(func() { <-w.exited })
	}
	p.mu.Unlock()
	if closed {
		return Output{}, ErrClosed
	}
	out, err := w.exchange(ctx, q)
	var died *deathError
	if p.isClosed() && errors.As(err, &died) {
		return Output{}, ErrClosed
	}
	return out, err
}

func (p *Pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// acquire waits for a slot, best the one that has the document's tree.
func (p *Pool) acquire(ctx context.Context, document treeKey) (*slot, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	w := &waiter{document, make(chan *slot, 1)}
	p.waiting = append(p.waiting, w)
	p.dispatch()
	p.mu.Unlock()
	select {
	case s, ok := <-w.given:
		if !ok {
			return nil, ErrClosed
		}
		return s, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.waiting = slices.DeleteFunc(p.waiting, func(o *waiter) bool { return o == w })
	p.mu.Unlock()
	select {
	case s, ok := <-w.given:
		if ok { // given at the last moment
			_ = p.release(s)
		}
	default:
	}
	err := ended(ctx.Err())
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Text, e.Hint = "jq: the time limit passed while other programs ran", "try again, one program at a time"
	}
	return nil, err
}

// dispatch gives free slots to queries that wait, see turns.go. p.mu must be held.
func (p *Pool) dispatch() {
	for {
		next := p.next()
		if next < 0 {
			return
		}
		w := p.waiting[next]
		s := p.pick(w.document)
		if s == nil {
			p.oust(w.document.Agent)
			return
		}
		p.waiting = slices.Delete(p.waiting, next, next+1)
		s.busy, s.agent, s.since, s.ousted = true, w.document.Agent, time.Now(), false
		w.given <- s
	}
}

// pick returns the best free slot, or nil. A tree that is there saves most; else
// agents keep to workers of their own, as long as there are some. p.mu must be held.
func (p *Pool) pick(document treeKey) (best *slot) {
	rank := func(s *slot) int {
		switch {
		case s.process == nil:
			return 2
		case s.process.holds[document]:
			return 4
		case s.agent == document.Agent:
			return 3
		}
		return 1
	}
	for _, s := range p.slots {
		if !s.busy && (best == nil || rank(s) > rank(best)) {
			best = s
		}
	}
	return best
}

// release gives a slot back, and reports whether it had to be. One whose worker was
// killed is free when that has ended and its memory with it; whose program it was need
// not wait.
func (p *Pool) release(s *slot) (ousted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ousted := s.process, s.ousted
	if w == nil || !w.killed.Load() {
		p.free(s)
		return ousted
	}
	p.note(s)
	go func() {
		<-w.exited
		p.mu.Lock()
		defer p.mu.Unlock()
		s.process = nil
		p.free(s)
	}()
	return ousted
}

// free gives a slot to a query that waits for one. p.mu must be held.
func (p *Pool) free(s *slot) {
	s.busy = false
	if s.process != nil {
		for _, agent := range s.forget {
			s.process.forget(agent)
		}
	}
	s.forget = nil
	p.dispatch()
}

// Forget drops the trees of an agent that is gone.
func (p *Pool) Forget(agent string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		switch {
		case s.busy:
			s.forget = append(s.forget, agent)
		case s.process != nil:
			s.process.forget(agent)
		}
	}
}

// Close ends all workers, running programs included, and returns when their
// processes have ended.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	if p.look != nil {
		p.look.Stop()
	}
	for _, w := range p.waiting {
		close(w.given)
	}
	p.waiting = nil
	for _, s := range p.slots {
		if s.process != nil {
			s.process.kill()
		}
	}
	p.mu.Unlock()
	p.ending.Wait()
}
