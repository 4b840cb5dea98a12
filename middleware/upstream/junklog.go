package upstream

import (
	"log/slog"
	"sync"
	"time"
)

// maxJunk is how much of what is no message is logged in junkTime, one by one.
const (
	maxJunk  = 20
	junkTime = time.Minute
)

// A junkLog logs what a server sends that is no message: the first of it, and how
// much more there was.
type junkLog struct {
	logger *slog.Logger

	mu    sync.Mutex  // guards the fields below
	n     int         // in the time that runs
	timer *time.Timer // to its end; nil: none runs
}

func (j *junkLog) add(text string, args ...any) {
	j.mu.Lock()
	j.n++
	few := j.n <= maxJunk
	if j.timer == nil {
		j.timer = time.AfterFunc(junkTime, j.end)
	}
	j.mu.Unlock()
	if few {
		j.logger.Warn(text, args...)
	}
}

// end ends the time that runs.
func (j *junkLog) end() {
	j.mu.Lock()
	more := j.n - maxJunk
	j.n = 0
	if j.timer != nil {
		j.timer.Stop()
		j.timer = nil
	}
	j.mu.Unlock()
	if more > 0 {
		j.logger.Warn("more of what is no message", "count", more)
	}
}
