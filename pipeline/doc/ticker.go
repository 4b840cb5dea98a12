package doc

import (
	"context"
	"time"
)

// A Ticker checks a context once in many calls of a hot loop.
type Ticker struct {
	Ctx context.Context
	n   uint
}

func (t *Ticker) Err() error { return t.ErrFor(0) }

// ErrFor is err for a call that reads so many bytes: what is deep is read anew
// on each level, so that few calls can take long.
func (t *Ticker) ErrFor(bytes int) error {
	const each = 256 // bytes that count as a call
	before := t.n / 1024
	if t.n += 1 + uint(bytes)/each; t.n/1024 == before {
		return nil
	}
	if d, ok := t.Ctx.Deadline(); ok && time.Now().After(d) {
		return context.DeadlineExceeded
	}
	return t.Ctx.Err()
}
