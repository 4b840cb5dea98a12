package upstream

import (
	"errors"
	"fmt"
	"time"
)

// A State is where an upstream stands.
//
//	Connecting ─── connected ──► Ready ── crash ─► Connecting, at once
//	     └─ failed ─► Failed ─┐    └─ crashes soon after the begin ─► Failed
//	            ▲     pause, or a call
//	            └─ failed ────┴─ connected ─► Ready
//
// Closed and Disabled are for good.
type State int

const (
	Connecting State = iota // the first attempt, or the first after a loss
	Ready
	// Failed: the last attempt failed, or sessions end again and again soon after they
	// began. The next attempt waits, or runs.
	Failed
	// Disabled: its entry says so. It is never started, and agents do not hear of it.
	Disabled
	// Quarantined is what Ready is called where every tool is held back until the operator
	// accepts them, see [State.Quarantine]. A server in a crash loop is Failed.
	Quarantined
	Closed
)

func (s State) String() string {
	return [...]string{"connecting", "ready", "failed", "disabled", "quarantined", "closed"}[s]
}

// Quarantine is the state as operators read it, where held says whether every tool of the
// server is held back: calls of what it offers besides, prompts say, are answered as ever.
func (s State) Quarantine(held bool) State {
	if s == Ready && held {
		return Quarantined
	}
	return s
}

const (
	// longestPause is the longest between two attempts, chance included.
	longestPause = time.Minute
	// firstPause is the first, and each later one is twice the one before. Servers that are
	// replaced by a newer version are away for a second or two.
	firstPause = 250 * time.Millisecond
	// jitter is by how much of it a pause is longer or shorter by chance, so that servers
	// that were lost together do not come back together.
	jitter = 0.2
	// steadyTime is how long a session must last for all that was before to be forgotten.
	steadyTime = 10 * time.Second
	// maxRestarts is how many sessions in a row may end sooner, by a crash or since the
	// server forgot them, and be replaced at once. A server behind a balancer that knows no
	// sessions forgets each.
	maxRestarts = 5
	// calledAfter is how long after an attempt a call may bring the next one forward.
	calledAfter = 5 * time.Second
)

var (
	errDisabled = errors.New("it is disabled in its entry")
	errLoop     = errors.New("it ends soon after each start")
)

// A lifecycle is the state of an upstream and what decides on the next one. It does
// nothing: whoever connects tells it what became of that, and asks when to try again.
type lifecycle struct {
	first  time.Duration  // the first pause
	chance func() float64 // from 0 up to 1

	state State
	err   error     // why state is Failed, Disabled or Closed, or what the last session ended of
	next  time.Time // of the next attempt, while Failed; past: it runs

	ends   int       // sessions in a row that ended within steadyTime
	fails  int       // pauses since the last session that lasted
	called time.Time // from then on a call may bring the next attempt forward
}

// connected notes that a session has begun, and reports whether those before it ended
// again and again.
func (l *lifecycle) connected() (looping bool) {
	l.state, l.err = Ready, nil
	return l.ends > maxRestarts
}

// steady notes that a session has lasted for steadyTime.
func (l *lifecycle) steady() { l.ends, l.fails = 0, 0 }

// lost notes that a session has ended, of err. Another is to be opened at once, unless
// the last ones ended soon as well.
func (l *lifecycle) lost(now time.Time, err error) {
	if l.ends++; l.ends > maxRestarts {
		l.failed(now, fmt.Errorf("%w: %w", errLoop, err))
		return
	}
	l.state, l.err, l.next = Connecting, err, now
}

// failed notes that an attempt has failed, of err.
func (l *lifecycle) failed(now time.Time, err error) {
	least := time.Duration(0)
	if status := statusOf(err); status != nil {
		least = min(status.Retry, longestPause) // it asks for that
	}
	l.state, l.err = Failed, err
	l.next = now.Add(max(l.pause(), least))
	l.called = now.Add(max(calledAfter, least))
	l.fails++
}

// pause is how long to wait before the next attempt.
func (l *lifecycle) pause() time.Duration {
	const longest = longestPause * 10 / 12 // and a fifth of it
	pause := min(l.first, longest)
	for range l.fails {
		if pause = min(2*pause, longest); pause == longest {
			break
		}
	}
	return time.Duration(float64(pause) * (1 - jitter + 2*jitter*l.chance()))
}

// call notes that a call has come, which may bring the next attempt forward to now, and
// reports whether it has.
func (l *lifecycle) call(now time.Time) bool {
	if l.state != Failed || now.Before(l.called) || !l.next.After(now) {
		return false
	}
	l.next = now
	return true
}

// why is err, and when state is Failed the time until the next attempt with it.
func (l *lifecycle) why(now time.Time) error {
	if l.state != Failed {
		return l.err
	}
	return &retryError{l.err, max(0, l.next.Sub(now))}
}

func (l *lifecycle) close(err error) { l.state, l.err = Closed, err }
