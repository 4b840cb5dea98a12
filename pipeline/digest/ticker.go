package digest

import (
	"context"
	"time"
)

// A ticker checks a context once in many lines.
type ticker struct {
	ctx context.Context
	n   uint
}

func (t *ticker) err() error {
	if t.n++; t.n%1024 != 0 {
		return nil
	}
	if d, ok := t.ctx.Deadline(); ok && time.Now().After(d) {
		return context.DeadlineExceeded
	}
	return t.ctx.Err()
}
