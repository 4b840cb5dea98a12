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

	grace time.Duration // zero means killGrace
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
	waiting []*waiter // first come, first
	closed  bool
	ending  sync.WaitGroup // processes that were not waited for
}

// A slot has a worker, or room for one. Who has a busy one may use its process
// without Pool.mu.
type slot struct {
	process *process // nil: none runs
	busy    bool     // somebody has it
	dying   bool     // nobody has it, but its process has not ended
	agent   string   // whose program runs, or ran last
	forget  []string // agents that went meanwhile
	idle    *time.Timer
}

type waiter struct {
	agent, key string
	given      chan *slot // has room for one; closed with the pool
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
	if opts.grace == 0 {
		opts.grace = killGrace
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Pool{opts: opts}
	for range opts.Workers {
		p.slots = append(p.slots, &slot{})
	}
	return p
}

// ErrClosed is the error of a closed pool.
var ErrClosed = errors.New("jq: the pool is closed")

// Run runs q. It returns soon after the end of ctx, if only because the worker
// is killed; an expired deadline is an [*Error] with code limit_time, as are a
// program that does not compile or fails, bad_jq, and one that needs too much
// memory or stack, limit_memory. Other errors are that of a cancelled ctx,
// [ErrClosed], and ours.
func (p *Pool) Run(ctx context.Context, q Query) (Output, error) {
	if err := checkSize(q.Program); err != nil {
		return Output{}, err
	}
	key := ""
	if q.Key != "" {
		key = q.Agent + "\x00" + q.Key
	}
	if len(key) > maxKey {
		return Output{}, fmt.Errorf("jq: key of %d bytes", len(key))
	}
	for retried := false; ; retried = true {
		s, err := p.acquire(ctx, q.Agent, key)
		if err != nil {
			return Output{}, err
		}
		out, err := p.runOn(ctx, s, key, q)
		var died *deathError
		if !errors.As(err, &died) {
			return out, err
		}
		if ctx.Err() != nil {
			return Output{}, ended(ctx.Err())
		}
		p.opts.Logger.Warn("a jq worker ended under a program; the next one starts another", "agent", q.Agent, "program", show.ClipBytes(q.Program, 200), "cause", died.err)
		if died.why != nil {
			return Output{}, died.why
		}
		// Nothing says that the program is to blame.
		if retried {
			return Output{}, &Error{Code: Bad, Text: "jq: the worker ended under the program, twice", Hint: "write it differently, or select less", Err: died.err}
		}
	}
}

// runOn runs q on the worker of s, which it starts if there is none, and
// releases s.
func (p *Pool) runOn(ctx context.Context, s *slot, key string, q Query) (Output, error) {
	w, err := p.worker(s)
	if err != nil {
		p.release(s)
		return Output{}, err
	}
	out, err := w.exchange(ctx, key, q)
	p.release(s)
	return out, err
}

// worker is the process of s, which the caller has.
func (p *Pool) worker(s *slot) (*process, error) {
	p.mu.Lock()
	w, closed := s.process, p.closed
	if w == nil && !closed {
		p.ending.Add(1)
	}
	p.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case w != nil:
		return w, nil
	}
	w, err := start(p.opts)
	if err != nil {
		p.ending.Done()
		return nil, fmt.Errorf("jq: start a worker: %w", err)
	}
	p.opts.Logger.Debug("jq worker started", "pid", w.cmd.Process.Pid)
	p.mu.Lock()
	s.process = w
	closed = p.closed
	p.mu.Unlock()
	go func() {
		defer p.ending.Done()
		<-w.exited
		p.bury(s, w)
	}()
	if closed { // Close has not seen it
		w.kill()
	}
	return w, nil
}

// bury takes note of the end of w.
func (p *Pool) bury(s *slot, w *process) {
	w.stdout.Close()
	p.opts.Logger.Debug("jq worker ended", "pid", w.cmd.Process.Pid, "state", w.cmd.ProcessState)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.process != w { // ended when idle; the slot may have another
		return
	}
	s.process = nil
	if s.dying {
		s.dying = false
		p.free(s)
	}
}

// share is how many workers one agent may have at a time: there is always one
// for another.
func (p *Pool) share() int { return len(p.slots) - 1 }

// acquire waits for a worker, best the one that has the tree of key.
func (p *Pool) acquire(ctx context.Context, agent, key string) (*slot, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	if s := p.pick(agent, key); s != nil {
		p.mu.Unlock()
		return s, nil
	}
	w := &waiter{agent, key, make(chan *slot, 1)}
	p.waiting = append(p.waiting, w)
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
			p.release(s)
		}
	default:
	}
	err := ended(ctx.Err())
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Text, e.Hint = "jq: the time limit passed while other programs ran", "try again, one program at a time"
	}
	return nil, err
}

// pick takes a free slot for agent, or returns nil. p.mu must be held.
func (p *Pool) pick(agent, key string) *slot {
	if p.closed {
		return nil
	}
	if p.running(agent) >= p.share() {
		return nil
	}
	var best *slot
	bestRank := 0
	for _, s := range p.slots {
		if s.busy {
			continue
		}
		// A tree that is there saves most. Else agents keep to workers of
		// their own, as long as there are some.
		rank := 1
		switch {
		case s.process != nil && s.process.holds[key]:
			rank = 4
		case s.process != nil && s.agent == agent:
			rank = 3
		case s.process == nil:
			rank = 2
		}
		if rank > bestRank {
			best, bestRank = s, rank
		}
	}
	if best == nil {
		return nil
	}
	best.busy, best.agent = true, agent
	if best.idle != nil {
		best.idle.Stop()
		best.idle = nil
	}
	return best
}

// running is how many workers agent has. p.mu must be held.
func (p *Pool) running(agent string) (n int) {
	for _, s := range p.slots {
		if s.busy && s.agent == agent {
			n++
		}
	}
	return n
}

// release gives a slot back. One whose worker was killed is free when that has
// ended and its memory with it; whose program it was need not wait.
func (p *Pool) release(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.process != nil && s.process.killed.Load() {
		s.dying = true
		return
	}
	p.free(s)
}

// free gives a slot to who waits for one. p.mu must be held.
func (p *Pool) free(s *slot) {
	s.busy = false
	if w := s.process; w != nil {
		for _, agent := range s.forget {
			w.forget(agent)
		}
		if p.closed {
			w.end()
		} else {
			s.idle = time.AfterFunc(p.opts.Idle, func() { p.endIdle(s, w) })
		}
	}
	s.forget = nil
	p.dispatch()
}

// dispatch gives free workers to those who wait, first to whom has none.
// p.mu must be held.
func (p *Pool) dispatch() {
	for {
		next := -1
		for i, w := range p.waiting {
			n := p.running(w.agent)
			if n < p.share() && (next < 0 || n < p.running(p.waiting[next].agent)) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := p.waiting[next]
		s := p.pick(w.agent, w.key)
		if s == nil {
			return
		}
		p.waiting = slices.Delete(p.waiting, next, next+1)
		w.given <- s
	}
}

// endIdle ends w if it still has nothing to do.
func (p *Pool) endIdle(s *slot, w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.busy && s.process == w {
		s.process = nil
		w.end()
	}
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
	for _, w := range p.waiting {
		close(w.given)
	}
	p.waiting = nil
	for _, s := range p.slots {
		if s.idle != nil {
			s.idle.Stop()
		}
		switch {
		case s.process == nil:
		case s.busy:
			s.process.kill()
		default:
			s.process.end()
		}
	}
	p.mu.Unlock()
	p.ending.Wait()
}
