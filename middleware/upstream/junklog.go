package upstream

import (
	"log/slog"
	"sync"
	"time"
)

// maxJunk is how much of what is no message is logged one by one in junkTime.
const (
	maxJunk  = 20
	junkTime = time.Minute
)

// A junkLog logs what a server sends that is no message: the first of it, and how
// much more there was when more comes later, or the server ends.
type junkLog struct {
	logger *slog.Logger

	mu    sync.Mutex // guards the fields below
	begun time.Time  // of the time that runs
	n     int        // in that
}

func (j *junkLog) add(args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if now := time.Now(); now.Sub(j.begun) > junkTime {
		j.tellMore()
		j.begun = now
	}
	if j.n++; j.n <= maxJunk {
		j.logger.Warn("what the server sent is no message", args...)
	}
}

// end tells of what was not logged.
func (j *junkLog) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tellMore()
}

func (j *junkLog) tellMore() {
	if more := j.n - maxJunk; more > 0 {
		j.logger.Warn("more of what is no message", "count", more)
	}
	j.n = 0
}
