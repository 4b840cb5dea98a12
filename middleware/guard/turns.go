package guard

import (
	"context"
	"math"
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

// Take waits for a turn of an agent, which is given back by done. The error is the cause
// of ctx's end.
func (t *Turns) Take(ctx context.Context, agent string) (done func(), err error) {
	waited, err := t.lane.take(ctx, agent, 1)
	HoldOf(ctx).waits(waited)
	if err != nil {
		return nil, err
	}
	return func() { t.lane.give(agent, 1) }, nil
}
