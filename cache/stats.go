package cache

import (
	"errors"
	"sync/atomic"
)

// Stats are what a store holds now, and what became of it since it was made. With
// [Options.Fleet], what is held is that of all replicas; what is counted is what this one has
// answered and removed.
type Stats struct {
	Entries, Agents int
	Bytes           int64
	Near            int64 // bytes of a shared store that are in this process too

	Hits, Unknown, Gone int64 // reads by Get; Gone are of ids that have expired or were evicted
	Expired, Evicted    int64 // entries
}

// Stats returns those of now.
func (s *Store) Stats() Stats {
	now := Stats{
		Hits: s.counts.hits.Load(), Unknown: s.counts.unknown.Load(), Gone: s.counts.gone.Load(),
		Expired: s.counts.expired.Load(), Evicted: s.counts.evicted.Load(),
	}
	s.index.totals(&now)
	return now
}

// totals implements [index].
func (l *local) totals(now *Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now.Agents, now.Bytes = len(l.agents), l.size
	for _, sh := range l.agents {
		now.Entries += len(sh.records)
	}
}

// counters are what is counted of [Stats].
type counters struct{ hits, unknown, gone, expired, evicted atomic.Int64 }

// read counts a read that ended with err.
func (c *counters) read(err error) {
	var gone *GoneError
	switch {
	case err == nil:
		c.hits.Add(1)
	case errors.As(err, &gone):
		c.gone.Add(1)
	case errors.Is(err, ErrUnknown):
		c.unknown.Add(1)
	}
}

// removed counts an entry that went.
func (c *counters) removed(why Reason) {
	if why == Expired {
		c.expired.Add(1)
	} else {
		c.evicted.Add(1)
	}
}
