package web

import "sync"

const (
	// replayBytes is what all sessions together keep of what they were sent, for
	// clients whose connection was cut before they had it.
	replayBytes = 32 << 20

	// eventBytes is what an event takes at most besides its message: 430 were measured
	// for one that has a stream for itself.
	eventBytes = 450
)

// A replay keeps the latest events that were sent, over all sessions.
type replay struct {
	max int

	mu    sync.Mutex // guards the fields below
	kept  []kept     // the oldest first
	bytes int
}

// A kept is an event that was sent, the nth of its stream, and what it takes.
type kept struct {
	stream *stream
	n      int
	bytes  int
}

func newReplay(max int) *replay { return &replay{max: max} }

// keep takes note that the nth event of s was sent, and drops the oldest ones of
// anybody until there is room.
func (r *replay) keep(s *stream, n, size int) {
	for _, k := range r.add(kept{s, n, size + eventBytes}) {
		if k.stream.forget(k.n) {
			k.stream.session.streams.remove(k.stream)
		}
	}
}

// add returns those that k leaves no room for.
func (r *replay) add(k kept) (drop []kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, k)
	r.bytes += k.bytes
	n := 0
	for r.bytes > r.max {
		r.bytes -= r.kept[n].bytes
		n++
	}
	drop = append(drop, r.kept[:n]...)
	clear(r.kept[:n])
	r.kept = r.kept[n:]
	return drop
}

// forget drops what is kept for a session.
func (r *replay) forget(session *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := make([]kept, 0, len(r.kept))
	for _, k := range r.kept {
		if k.stream.session == session {
			r.bytes -= k.bytes
		} else {
			left = append(left, k)
		}
	}
	r.kept = left
}
