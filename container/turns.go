package container

import (
	"context"
	"sync"
)

// turns bounds how many programs run at a time, of one agent and in all.
type turns struct {
	most, mostOfAgent int

	mu      sync.Mutex // guards the fields below
	all     int
	agents  map[string]int
	changed chan struct{} // closed, and made anew, when a program has ended
}

func newTurns(most, mostOfAgent int) *turns {
	return &turns{most: most, mostOfAgent: mostOfAgent, agents: map[string]int{}, changed: make(chan struct{})}
}

// take waits for a turn, until ctx ends. leave gives it back.
func (t *turns) take(ctx context.Context, agent string) (leave func(), err error) {
	for {
		t.mu.Lock()
		if t.all < t.most && t.agents[agent] < t.mostOfAgent {
			t.all++
			t.agents[agent]++
			t.mu.Unlock()
			return func() { t.leave(agent) }, nil
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, limited(ctx, "the time limit passed while other programs had all turns")
		}
	}
}

func (t *turns) leave(agent string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all--
	if t.agents[agent]--; t.agents[agent] == 0 {
		delete(t.agents, agent)
	}
	close(t.changed)
	t.changed = make(chan struct{})
}
