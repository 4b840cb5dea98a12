package cache

import "errors"

// Stats are what a store holds now, and what became of it since it was made.
type Stats struct {
	Entries, Agents int
	Bytes           int64

	Hits, Unknown, Gone int64 // reads by Get; Gone are of ids that have expired or were evicted
	Expired, Evicted    int64 // entries
}

// Stats returns those of now.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.stats
	now.Agents, now.Bytes = len(s.agents), s.size
	for _, sh := range s.agents {
		now.Entries += len(sh.records)
	}
	return now
}

// read counts a read that ended with err. The store's mu must be held.
func (t *Stats) read(err error) {
	var gone *GoneError
	switch {
	case err == nil:
		t.Hits++
	case errors.As(err, &gone):
		t.Gone++
	case errors.Is(err, ErrUnknown):
		t.Unknown++
	}
}

// removed counts an entry that went. The store's mu must be held.
func (t *Stats) removed(why Reason) {
	if why == Expired {
		t.Expired++
	} else {
		t.Evicted++
	}
}
