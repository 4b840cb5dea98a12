package guard

import (
	"context"
	"io"
	"runtime"
	"sync"
	"time"
)

const (
	// smallBytes is up to where a result is small: these wait for one another
	// only, so that a large one delays none of them.
	smallBytes = 1 << 20

	// quickBytes is up to where to work on a result takes no turn: it takes less than
	// a millisecond.
	quickBytes = 4 << 10

	// smallShare is what small results have of a [Budget], beside the rest.
	smallShare = 16 << 20

	// idleTime is how long nothing large was worked on when a [Budget] calls
	// itself idle.
	idleTime = time.Second
)

// A Budget bounds the bytes of results that calls work on at one time, and how many
// compute: calls wait for their turn, which goes round the agents. To decode, search
// and preview a result takes several times its size.
type Budget struct {
	small, large share

	mu    sync.Mutex // guards the fields below
	idle  func()
	timer *time.Timer
}

// A share is what small or large results have of a [Budget]: while as many compute on
// large ones as there are processors, the system still shares these with small ones.
type share struct{ bytes, turns *lane }

// NewBudget bounds large results to max bytes; one that is larger by itself has
// its turn alone. Idle, if not nil, is called when nothing large has been worked
// on for a second.
func NewBudget(max int64, idle func()) *Budget {
	turns := int64(runtime.GOMAXPROCS(0))
	return &Budget{
		small: share{newLane(smallShare), newLane(turns)},
		large: share{newLane(max), newLane(turns)},
		idle:  idle,
	}
}

// of is the share of a result of n bytes.
func (b *Budget) of(n int64) *share {
	if n <= smallBytes {
		return &b.small
	}
	return &b.large
}

// A Hold is what one call has taken of a [Budget]. A nil Hold takes nothing and
// never waits.
type Hold struct {
	budget *Budget
	agent  string

	mu    sync.Mutex // guards the fields below
	bytes *lane      // nil: no bytes are taken
	n     int64
	turn  *lane // nil: no turn is taken
	ended bool

	waited time.Duration // for turns, so far
}

// Hold returns one of a call of this agent, which has taken nothing yet.
func (b *Budget) Hold(agent string) *Hold { return &Hold{budget: b, agent: agent} }

// Take waits until the call may have a result of n bytes in memory to work on. A call
// that has taken as much already goes on; one with less gives that back first, so that
// no two wait for each other. The error is the cause of ctx's end. Take and Work are
// called by one goroutine at a time.
func (h *Hold) Take(ctx context.Context, n int64) error {
	if h == nil {
		return nil
	}
	lane := h.budget.of(n).bytes
	n = min(n, lane.max)
	h.mu.Lock()
	if n <= h.n {
		h.mu.Unlock()
		return nil
	}
	h.give()
	h.mu.Unlock()
	waited, err := lane.take(ctx, h.agent, n)
	h.waits(waited)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes, h.n = lane, n
	return h.unlessEnded()
}

// Work waits until the call may compute on a result of n bytes. It has its turn until
// Rest, Pause or Release. The error is the cause of ctx's end.
func (h *Hold) Work(ctx context.Context, n int64) error {
	if h == nil || n <= quickBytes {
		return nil
	}
	lane := h.budget.of(n).turns
	h.mu.Lock()
	if h.turn == lane {
		h.mu.Unlock()
		return nil
	}
	h.rest()
	h.mu.Unlock()
	waited, err := lane.take(ctx, h.agent, 1)
	h.waits(waited)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn = lane
	return h.unlessEnded()
}

// Turn is Take, and then Work.
func (h *Hold) Turn(ctx context.Context, n int64) error {
	if err := h.Take(ctx, n); err != nil {
		return err
	}
	return h.Work(ctx, n)
}

// unlessEnded gives all back that was taken by a call that ended while it waited. h.mu
// must be held.
func (h *Hold) unlessEnded() error {
	if h.ended {
		h.give()
		return context.Canceled
	}
	return nil
}

// waits counts a wait for a turn.
func (h *Hold) waits(d time.Duration) {
	if h == nil || d == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waited += d
}

// Waited is how long the call has waited for turns.
func (h *Hold) Waited() time.Duration {
	if h == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waited
}

// Rest gives back the turn to compute, and keeps the bytes.
func (h *Hold) Rest() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rest()
}

// rest is Rest. h.mu must be held.
func (h *Hold) rest() {
	if h.turn != nil {
		h.turn.give(h.agent, 1)
		h.turn = nil
	}
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
	h.rest()
	if h.bytes == nil {
		return
	}
	h.bytes.give(h.agent, h.n)
	if h.bytes == h.budget.large.bytes {
		h.budget.rest()
	}
	h.bytes, h.n = nil, 0
}

// Wanted reports whether another agent waits for the bytes that the call has.
func (h *Hold) Wanted() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	lane := h.bytes
	h.mu.Unlock()
	return lane != nil && lane.wanted(h.agent)
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
			large := b.large.bytes
			large.mu.Lock()
			busy := large.taken > 0
			large.mu.Unlock()
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
		if err := r.hold.Take(r.ctx, min(r.max, r.hold.budget.large.bytes.max)); err != nil {
			return 0, err
		}
	}
	n, err := r.r.Read(p)
	r.read += int64(n)
	return n, err
}
