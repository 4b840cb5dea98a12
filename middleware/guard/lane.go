package guard

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// A lane is a share of bytes, or of turns to compute, for which calls wait. Those of the
// agent that has least of it come next; among agents that have as much, of the one whose
// last turn is longest ago. So an agent with many calls waits for its own.
type lane struct {
	max int64

	mu    sync.Mutex // guards the fields below
	most  int64      // of one agent; zero is max
	taken int64
	users map[string]*user // agents that have taken something, or wait
	queue []*turn          // in the order in which they came
	turns int              // that there ever were
}

// A user is an agent of a lane.
type user struct {
	taken   int64
	waiting int // turns in the queue
	last    int // its last turn; zero is none yet
}

// A turn waits for n of a lane.
type turn struct {
	user *user
	n    int64
	come chan struct{} // closed when n is taken
}

func newLane(max int64) *lane { return &lane{max: max, users: map[string]*user{}} }

// take waits until n are free and it is the agent's turn, and says for how long it did.
// The error is the cause of ctx's end.
func (l *lane) take(ctx context.Context, agent string, n int64) (waited time.Duration, err error) {
	l.mu.Lock()
	u := l.user(agent)
	t := &turn{u, n, make(chan struct{})}
	l.queue = append(l.queue, t)
	u.waiting++
	l.advance()
	l.mu.Unlock()
	select {
	case <-t.come: // at once, whatever has become of ctx
		return 0, nil
	default:
	}
	begun := time.Now()
	select {
	case <-t.come:
		return time.Since(begun), nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-t.come:
		l.count(u, -n)
	default:
		l.queue = slices.DeleteFunc(l.queue, func(o *turn) bool { return o == t })
		u.waiting--
	}
	l.forget(agent, u)
	l.advance()
	return time.Since(begun), context.Cause(ctx)
}

// add counts n for an agent, whether or not they are free.
func (l *lane) add(agent string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(l.user(agent), n)
}

// user is an agent of the lane, from now on. l.mu must be held.
func (l *lane) user(agent string) *user {
	if l.users[agent] == nil {
		l.users[agent] = &user{}
	}
	return l.users[agent]
}

func (l *lane) give(agent string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.users[agent]
	l.count(u, -n)
	l.forget(agent, u)
	l.advance()
}

// count adds n to what an agent has. l.mu must be held.
func (l *lane) count(u *user, n int64) {
	l.taken += n
	u.taken += n
}

// forget drops an agent that neither has nor wants anything. l.mu must be held.
func (l *lane) forget(agent string, u *user) {
	if u.taken == 0 && u.waiting == 0 {
		delete(l.users, agent)
	}
}

// advance lets those in whose turn it is. Who has its turn and does not fit keeps others
// waiting: it might never fit otherwise. l.mu must be held.
func (l *lane) advance() {
	for {
		next := -1
		for i, t := range l.queue {
			if (l.most == 0 || t.user.taken < l.most) && (next < 0 || t.user.before(l.queue[next].user)) {
				next = i
			}
		}
		if next < 0 || l.taken+l.queue[next].n > l.max {
			return
		}
		t := l.queue[next]
		l.queue = slices.Delete(l.queue, next, next+1)
		l.turns++
		t.user.waiting--
		t.user.last = l.turns
		l.count(t.user, t.n)
		close(t.come)
	}
}

// before reports whether u's turn comes before o's.
func (u *user) before(o *user) bool {
	return cmp.Or(cmp.Compare(u.taken, o.taken), cmp.Compare(u.last, o.last)) < 0
}

// wanted reports whether another agent than this one waits.
func (l *lane) wanted(agent string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.users[agent]
	return slices.ContainsFunc(l.queue, func(t *turn) bool { return t.user != u })
}
