package guard

import (
	"context"
	"math"
	"sync"
)

// Turns are handed out to so many calls at a time, round the agents. It is safe for
// concurrent use.
type Turns struct{ lane *lane }

// NewTurns lets max calls run at one time; zero is any number.
func NewTurns(max int) *Turns {
	if max == 0 {
		return &Turns{newLane(math.MaxInt64)}
	}
	return &Turns{newLane(int64(max))}
}

// PerAgent bounds the calls of one agent that run at one time, from now on.
func (t *Turns) PerAgent(most int) {
	t.lane.mu.Lock()
	defer t.lane.mu.Unlock()
	t.lane.most = int64(most)
}

// A Turn is one call's.
type Turn struct {
	lane  *lane
	agent string

	mu    sync.Mutex // guards the fields below
	rests int
	ended bool
}

// Take waits for a turn of an agent. The error is the cause of ctx's end.
func (t *Turns) Take(ctx context.Context, agent string) (*Turn, error) {
	waited, err := t.lane.take(ctx, agent, 1)
	HoldOf(ctx).waits(waited)
	if err != nil {
		return nil, err
	}
	return &Turn{lane: t.lane, agent: agent}, nil
}

// End gives the turn back, for good.
func (t *Turn) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended = true; t.rests == 0 {
		t.lane.give(t.agent, 1)
	}
}

// Rest leaves the turn to others until again is called, as long as the call waits for what
// is not done in turns. Then the call goes on at once: what it waited for may wait for it.
// It counts again, so that others wait if there are too many now.
func (t *Turn) Rest() (again func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rests++; t.rests == 1 && !t.ended {
		t.lane.give(t.agent, 1)
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.rests--; t.rests == 0 && !t.ended {
			t.lane.add(t.agent, 1)
		}
	}
}
