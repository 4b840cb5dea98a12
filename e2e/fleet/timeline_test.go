package fleet

import (
	"sync"
	"time"

	"rlmproxy/e2e/replicas"
)

// backTime is how long after its start, or after it goes on, a store may still be away for
// replicas: they ask once a second, and wait two seconds for an answer.
const backTime = 4 * time.Second

// A life is one start of a replica.
type life struct{ replica, start int }

// A span is a time in which the store was away. End is zero while it is.
type span struct{ begin, end time.Time }

// A timeline is what was done to a fleet, and when. It says which errors that excuses.
type timeline struct {
	mu     sync.Mutex // guards the fields below
	killed map[life]time.Time
	away   []span
}

// kill notes that a replica is about to be killed.
func (l *timeline) kill(replica, start int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.killed == nil {
		l.killed = map[life]time.Time{}
	}
	l.killed[life{replica, start}] = time.Now()
}

// gone notes that the store is about to go, back that it is there again.
func (l *timeline) gone() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = append(l.away, span{begin: time.Now()})
}

func (l *timeline) back() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away[len(l.away)-1].end = time.Now()
}

// struck reports whether one of the requests was at a replica when that was killed.
func (l *timeline) struck(hops []replicas.Hop) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range hops {
		at, killed := l.killed[life{h.Replica, h.Start}]
		if killed && h.Sent && (h.Ended.IsZero() || !h.Ended.Before(at)) {
			return true
		}
	}
	return false
}

// deathTime is how long a replica may take to be gone that is being killed.
const deathTime = time.Second

// kills reports whether any replica was killed in a time.
func (l *timeline) kills(from, to time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range l.killed {
		if !at.Before(from.Add(-deathTime)) && !at.After(to) {
			return true
		}
	}
	return false
}

// without reports whether the store may have been away for a replica in a time.
func (l *timeline) without(from, to time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.away {
		if !s.begin.After(to) && (s.end.IsZero() || !from.After(s.end.Add(backTime))) {
			return true
		}
	}
	return false
}
