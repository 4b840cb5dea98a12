package cache

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// makeRoom evicts until an entry of size bytes fits agent's quota, the
// ceiling, and the number of agents. What has expired goes first. s.mu must be
// held.
func (s *Store) makeRoom(agent agentKey, size int64, now time.Time) {
	fitsQuota := func() bool {
		sh := s.agents[agent]
		return sh == nil || len(sh.records) < s.opts.MaxEntriesPerAgent && sh.size+size <= s.opts.MaxBytesPerAgent
	}
	fitsCeiling := func() bool { return s.size+size <= s.opts.MaxBytes }
	fitsAgents := func() bool { return s.agents[agent] != nil || len(s.agents) < s.opts.MaxAgents }
	if fitsQuota() && fitsCeiling() && fitsAgents() {
		return
	}
	s.expireAll(now)
	if !fitsQuota() {
		s.evictWorst(fitsQuota, now, s.agents[agent])
	}
	if !fitsCeiling() {
		var all []*shelf
		for _, sh := range s.agents {
			all = append(all, sh)
		}
		s.evictWorst(fitsCeiling, now, all...)
	}
	// Last, because the steps above may have emptied shelves, agent's too.
	for !fitsAgents() {
		s.evictIdlest()
	}
}

// evictWorst evicts records from shelves, worst first and at least one, until
// fits. The worst has the largest product of idle time and size: what was not
// asked for in a long time and frees the most. Among equals the oldest goes.
// s.mu must be held.
func (s *Store) evictWorst(fits func() bool, now time.Time, shelves ...*shelf) {
	type victim struct {
		rec    *record
		weight float64
	}
	var victims []victim
	for _, sh := range shelves {
		for _, rec := range sh.records {
			victims = append(victims, victim{rec, rec.weight(now)})
		}
	}
	worstFirst := func(a, b victim) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.rec.seq, b.rec.seq))
	}
	// One is usually enough, and found without sorting.
	s.remove(slices.MinFunc(victims, worstFirst).rec, Evicted)
	if fits() {
		return
	}
	slices.SortFunc(victims, worstFirst)
	for _, v := range victims[1:] {
		s.remove(v.rec, Evicted)
		if fits() {
			return
		}
	}
}

// weight is a float because nanoseconds times bytes overflow an int64. The
// ones keep fresh and empty entries comparable by the other factor.
func (rec *record) weight(now time.Time) float64 {
	return float64(now.Sub(rec.lastRead)+1) * float64(rec.size+1)
}

// evictIdlest evicts all that the longest idle agent keeps. s.mu must be held.
func (s *Store) evictIdlest() {
	var idlest *shelf
	for _, sh := range s.agents {
		if idlest == nil || cmp.Or(sh.lastUsed.Compare(idlest.lastUsed), cmp.Compare(sh.seq, idlest.seq)) < 0 {
			idlest = sh
		}
	}
	for _, rec := range idlest.records {
		s.remove(rec, Evicted)
	}
}

// sweep frees expired entries that nobody asks for. It runs until Close.
func (s *Store) sweep() {
	// An entry is held for at most a quarter, or a minute, past its time.
	// Get does not depend on it.
	tick := time.NewTicker(max(min(s.opts.TTL/4, time.Minute), 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.mu.Lock()
			s.expireAll(time.Now())
			s.unlock()
		}
	}
}

// expireAll removes all that has expired. s.mu must be held.
func (s *Store) expireAll(now time.Time) {
	for _, sh := range s.agents {
		for _, rec := range sh.records {
			if s.expired(rec, now) {
				s.remove(rec, Expired)
			}
		}
	}
}

// expired looks at the backing before it says so: another process may have read rec.
func (s *Store) expired(rec *record, now time.Time) bool {
	if now.Sub(rec.lastRead) < s.opts.TTL {
		return false
	}
	if rec.filed {
		if read := s.backing.lastUsed(rec.shelf.agent, rec.id); read.After(rec.lastRead) && !read.After(now) {
			rec.lastRead, rec.noted = read, read
		}
	}
	return now.Sub(rec.lastRead) >= s.opts.TTL
}

// validate makes every critical section end with check. Tests switch it on.
var validate = false

// check panics when the sums of the store do not agree with its contents,
// or a quota is exceeded. s.mu must be held.
func (s *Store) check() {
	assert := func(ok bool, format string, args ...any) {
		if !ok {
			panic("cache: " + fmt.Sprintf(format, args...))
		}
	}
	var size int64
	for key, sh := range s.agents {
		var shelfSize int64
		for id, rec := range sh.records {
			assert(rec.id == id && rec.shelf == sh && !rec.removed, "%s: filed wrongly", id)
			assert(s.tombstones.get(key, id) == nil, "%s: kept and gone", id)
			shelfSize += rec.size
		}
		assert(key == sh.agent, "%s: shelf filed wrongly", key)
		assert(len(sh.records) > 0, "%s: empty shelf", key)
		assert(shelfSize == sh.size, "%s: %d bytes, summed %d", key, shelfSize, sh.size)
		assert(shelfSize <= s.opts.MaxBytesPerAgent, "%s: %d bytes exceed the quota", key, shelfSize)
		assert(len(sh.records) <= s.opts.MaxEntriesPerAgent, "%s: %d entries exceed the quota", key, len(sh.records))
		size += shelfSize
	}
	assert(size == s.size, "%d bytes, summed %d", size, s.size)
	assert(size <= s.opts.MaxBytes, "%d bytes exceed the ceiling", size)
	assert(len(s.agents) <= s.opts.MaxAgents, "%d agents exceed the limit", len(s.agents))
	s.tombstones.check(assert)
}
