package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"rlmproxy/pipeline/show"
)

// Options configures a [Pool]. Role is required.
type Options struct {
	// Role is what the workers are for, a word. Logs have it.
	Role string
	// Command makes the command of a worker, which calls [Serve] with its
	// stdin and stdout. A nil Env becomes an empty one. Nil means this
	// executable with the argument ROLE-worker.
	Command func() (*exec.Cmd, error)
	// Workers run at a time, two at least. Zero means two.
	Workers int
	// PerAgent is how many one agent may have. Zero means all but one.
	PerAgent int
	// MaxBytes is the ceiling of one worker's memory. Zero means 768 MiB, which
	// a document of 64 MiB needs.
	MaxBytes int64
	// Idle is after how long an idle worker ends. Zero means five minutes.
	Idle time.Duration
	// Logger receives what workers write to stderr and how they end. Nil
	// discards it.
	Logger *slog.Logger
}

// A Pool does tasks in worker processes. Workers start when they are needed and keep what
// their language keeps for later tasks. Of one that ended for whatever reason nothing is lost
// but time: its task begins anew, unless it had asked for something. It is safe for concurrent
// use.
type Pool struct {
	opts Options

	mu      sync.Mutex // guards the fields below
	slots   []*slot
	waiting []*waiter            // first come, first
	slow    map[string]time.Time // agents whose tasks took long lately, and until when that counts
	look    *time.Timer          // of dispatch, for a task that is to make room; or nil
	closed  bool
	ending  sync.WaitGroup // processes that have not ended
}

// A slot has a worker, or room for one. While a task has the slot, it may use
// the child without Pool.mu.
type slot struct {
	child  *child    // nil: none was started yet
	busy   bool      // a task has it, or its killed process has not ended
	agent  string    // whose task runs, or ran last
	since  time.Time // when it began
	ousted bool      // it makes room for another agent's
	forget []string  // agents that went while the slot was busy
}

// A waiter is a task that waits for a slot.
type waiter struct {
	key   Key
	given chan *slot // has room for one; closed with the pool
}

// NewPool returns a pool without a process yet.
func NewPool(opts Options) *Pool {
	opts.Workers = max(opts.Workers, 2)
	if opts.PerAgent == 0 {
		opts.PerAgent = opts.Workers - 1
	}
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
var ErrClosed = errors.New("the pool of workers is closed")

// Do does t. It returns soon after the end of ctx, for the worker is killed then. The error is
// that of the language, a [*doc.Error]; a [*StoppedError]; that of the host, or of a cancelled
// ctx; [ErrClosed]; or ours.
func (p *Pool) Do(ctx context.Context, t Task) (Answer, error) {
	for retried := false; ; {
		s, err := p.acquire(ctx, Key{t.Agent, t.Key})
		if err != nil {
			return Answer{}, err
		}
		out, asked, err := p.doOn(ctx, s, t)
		ousted := p.release(s)
		var died *deathError
		switch {
		case !errors.As(err, &died):
			return out, err
		case ousted && asked:
			return Answer{}, &StoppedError{Reason: Room, Err: died.err}
		case ousted:
			continue
		case died.why == 0 && !retried && !asked:
			retried = true
			continue // an idle worker may have ended just then
		}
		p.opts.Logger.Warn("a "+p.opts.Role+" worker ended during a task; the next task starts another", "agent", t.Agent, "task", show.ClipBytes(strings.ToValidUTF8(string(t.Head), "\uFFFD"), 200), "cause", died.err)
		return Answer{}, &StoppedError{Reason: cmp.Or(died.why, Broken), MaxBytes: p.opts.MaxBytes, Err: died.err}
	}
}

// doOn does t on the worker of s, which it starts if there is none. Asked says that it has
// asked for something.
func (p *Pool) doOn(ctx context.Context, s *slot, t Task) (out Answer, asked bool, err error) {
	p.mu.Lock()
	w, closed := s.child, p.closed
	if !closed && (w == nil || w.hasExited()) {
		if w != nil {
			w.stdout.Close()
		}
		if w, err = start(p.opts); err != nil {
			p.mu.Unlock()
			return Answer{}, false, fmt.Errorf("start a %s worker: %w", p.opts.Role, err)
		}
		s.child = w
		p.ending.Go(func() { <-w.exited })
	}
	p.mu.Unlock()
	if closed {
		return Answer{}, false, ErrClosed
	}
	out, err = w.exchange(ctx, t)
	var died *deathError
	if p.isClosed() && errors.As(err, &died) {
		return Answer{}, false, ErrClosed
	}
	return out, w.asked.Load(), err
}

func (p *Pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// acquire waits for a slot, best the one that keeps what it needs.
func (p *Pool) acquire(ctx context.Context, key Key) (*slot, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	w := &waiter{key, make(chan *slot, 1)}
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
	return nil, late(ctx.Err(), Crowded)
}

// dispatch gives free slots to tasks that wait, see turns.go. p.mu must be held.
func (p *Pool) dispatch() {
	for {
		next := p.next()
		if next < 0 {
			return
		}
		w := p.waiting[next]
		s := p.pick(w.key)
		if s == nil {
			p.oust(w.key.Agent)
			return
		}
		p.waiting = slices.Delete(p.waiting, next, next+1)
		s.busy, s.agent, s.since, s.ousted = true, w.key.Agent, time.Now(), false
		w.given <- s
	}
}

// pick returns the best free slot, or nil. What a worker keeps saves most; else
// agents keep to workers of their own, as long as there are some. p.mu must be held.
func (p *Pool) pick(key Key) (best *slot) {
	rank := func(s *slot) int {
		switch {
		case s.child == nil:
			return 2
		case s.child.holds[key]:
			return 4
		case s.agent == key.Agent:
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
// killed is free when that has ended and its memory with it; whose task it was need
// not wait.
func (p *Pool) release(s *slot) (ousted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ousted := s.child, s.ousted
	if w == nil || !w.killed.Load() {
		p.free(s)
		return ousted
	}
	p.note(s)
	go func() {
		<-w.exited
		p.mu.Lock()
		defer p.mu.Unlock()
		s.child = nil
		p.free(s)
	}()
	return ousted
}

// free gives a slot to a task that waits for one. p.mu must be held.
func (p *Pool) free(s *slot) {
	s.busy = false
	if s.child != nil {
		for _, agent := range s.forget {
			s.child.forget(agent)
		}
	}
	s.forget = nil
	p.dispatch()
}

// Forget drops what workers keep of an agent that is gone.
func (p *Pool) Forget(agent string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		switch {
		case s.busy:
			s.forget = append(s.forget, agent)
		case s.child != nil:
			s.child.forget(agent)
		}
	}
}

// Close ends all workers, running tasks included, and returns when their
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
		if s.child != nil {
			s.child.kill()
		}
	}
	p.mu.Unlock()
	p.ending.Wait()
}
