package guard

import (
	"context"
	"io"
	"sync"
	"time"
)

const (
	// smallBytes is up to where a result is small: these wait for one another
	// only, so that a large one delays none of them.
	smallBytes = 1 << 20

	// smallShare is what small results have of a [Budget], beside the rest.
	smallShare = 16 << 20

	// idleTime is how long nothing large was worked on when a [Budget] calls
	// itself idle.
	idleTime = time.Second
)

// A Budget bounds the bytes of results that calls work on at one time: calls
// wait for their turn, in the order in which they came. To decode, search and
// preview a result takes several times its size.
type Budget struct {
	small, large lane

	mu    sync.Mutex // guards the fields below
	idle  func()
	timer *time.Timer
}

// NewBudget bounds large results to max bytes; one that is larger by itself has
// its turn alone. Idle, if not nil, is called when nothing large has been worked
// on for a second.
func NewBudget(max int64, idle func()) *Budget {
	return &Budget{small: lane{max: smallShare}, large: lane{max: max}, idle: idle}
}

// A lane is a first-come-first-served share of bytes.
type lane struct {
	max int64

	mu    sync.Mutex // guards the fields below
	taken int64
	queue []*turn
}

// A turn waits for n bytes.
type turn struct {
	n    int64
	come chan struct{} // closed when n is taken
}

// take waits until n bytes are free and those who came before have theirs. The error is
// the cause of ctx's end.
func (l *lane) take(ctx context.Context, n int64) error {
	l.mu.Lock()
	if len(l.queue) == 0 && l.taken+n <= l.max {
		l.taken += n
		l.mu.Unlock()
		return nil
	}
	t := &turn{n, make(chan struct{})}
	l.queue = append(l.queue, t)
	l.mu.Unlock()
	select {
	case <-t.come:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-t.come:
		l.taken -= n
	default:
		for i, o := range l.queue {
			if o == t {
				l.queue = append(l.queue[:i], l.queue[i+1:]...)
				break
			}
		}
	}
	l.advance()
	return context.Cause(ctx)
}

func (l *lane) give(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken -= n
	l.advance()
}

// advance lets those in whose turn it is. l.mu must be held.
func (l *lane) advance() {
	for len(l.queue) > 0 && l.taken+l.queue[0].n <= l.max {
		l.taken += l.queue[0].n
		close(l.queue[0].come)
		l.queue = l.queue[1:]
	}
}

// A Hold is what one call has taken of a [Budget]. A nil Hold takes nothing and
// never waits.
type Hold struct {
	budget *Budget

	mu    sync.Mutex // guards the fields below
	lane  *lane      // nil: nothing is taken
	n     int64
	ended bool
}

// Hold returns one that has taken nothing yet.
func (b *Budget) Hold() *Hold { return &Hold{budget: b} }

// Take waits until the call may work on a result of n bytes. A call that has
// taken as much already goes on; one with less gives that back first, so that no
// two wait for each other. The error is the cause of ctx's end. Take is called
// by one goroutine at a time.
func (h *Hold) Take(ctx context.Context, n int64) error {
	if h == nil {
		return nil
	}
	lane := &h.budget.large
	if n <= smallBytes {
		lane = &h.budget.small
	}
	n = min(n, lane.max)
	h.mu.Lock()
	if n <= h.n {
		h.mu.Unlock()
		return nil
	}
	h.give()
	h.mu.Unlock()
	if err := lane.take(ctx, n); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lane, h.n = lane, n
	if h.ended { // while it waited
		h.give()
		return context.Canceled
	}
	return nil
}

// Pause gives back what was taken while the call waits for something else. Its
// next Take waits for its turn again.
func (h *Hold) Pause() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.give()
}

// Keep gives back all but n bytes of what was taken. It does not wait.
func (h *Hold) Keep(n int64) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lane != nil && n < h.n {
		h.lane.give(h.n - n)
		h.n = n
	}
}

// Release gives back what was taken, for good.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	h.give()
}

// give gives back what is taken. h.mu must be held.
func (h *Hold) give() {
	if h.lane == nil {
		return
	}
	h.lane.give(h.n)
	if h.lane == &h.budget.large {
		h.budget.rest()
	}
	h.lane, h.n = nil, 0
}

// Used says that a call without a result of megabytes needed as much memory.
func (b *Budget) Used() { b.rest() }

// rest starts the time after which the budget is idle, anew.
func (b *Budget) rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.idle == nil:
	case b.timer == nil:
		b.timer = time.AfterFunc(idleTime, func() {
			b.large.mu.Lock()
			busy := b.large.taken > 0
			b.large.mu.Unlock()
			if !busy { // or its end starts the time again
				b.idle()
			}
		})
	default:
		b.timer.Reset(idleTime)
	}
}

type holdKey struct{}

// WithHold gives the call that ctx is of a hold: its answer takes its turn before
// it is handed on.
func WithHold(ctx context.Context, h *Hold) context.Context {
	return context.WithValue(ctx, holdKey{}, h)
}

// HoldOf returns the hold of ctx, or nil.
func HoldOf(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}

// Reader reads r for the call that ctx is of. What turns out to be large takes
// the turn of a result of max bytes, since nobody knows how long it will get.
func (h *Hold) Reader(ctx context.Context, r io.Reader, max int64) io.Reader {
	if h == nil {
		return r
	}
	return &heldReader{ctx, h, r, max, 0}
}

type heldReader struct {
	ctx  context.Context
	hold *Hold
	r    io.Reader
	max  int64
	read int64
}

func (r *heldReader) Read(p []byte) (int, error) {
	if r.read > smallBytes {
		if err := r.hold.Take(r.ctx, min(r.max, r.hold.budget.large.max)); err != nil {
			return 0, err
		}
	}
	n, err := r.r.Read(p)
	r.read += int64(n)
	return n, err
}
