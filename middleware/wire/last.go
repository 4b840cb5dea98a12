package wire

import "time"

// A peer may end its stream behind its last request and go on reading: so does what
// pipes requests into a server. What it asked before is answered, and only then does
// the SDK hear of the end, for which it cancels all that runs.

// Settled is closed once reading has ended and all that the SDK was asked has been
// answered, but for streams of news, which have no answer.
func (c *Conn) Settled() <-chan struct{} { return c.settled }

// settle closes settled when it is time. c.mu must be held.
func (c *Conn) settle() {
	if !c.ended {
		return
	}
	for _, f := range c.asked {
		if !f.listens {
			return
		}
	}
	select {
	case <-c.settled:
	default:
		close(c.settled)
	}
}

// Stuck is how long the line that is being written has taken so far.
func (c *Conn) Stuck() time.Duration {
	begun := c.writing.Load()
	if begun == 0 {
		return 0
	}
	return time.Since(time.Unix(0, begun))
}
