package cache

import (
	"container/heap"
	"fmt"
	"maps"
	"slices"
	"time"
)

// makeRoom evicts until an entry of size bytes fits agent's quota, the
// ceiling, and the number of agents. s.mu must be held.
func (s *Store) makeRoom(agent agentKey, size int64, now time.Time) {
	if sh := s.agents[agent]; sh != nil {
		fits := func() bool {
			return len(sh.records) < s.opts.MaxEntriesPerAgent &&
				sh.size+size <= s.opts.MaxBytesPerAgent
		}
		if !fits() {
			s.expire(sh, now)
			s.evictWorst(fits, now, sh)
		}
	}
	fits := func() bool { return s.size+size <= s.opts.MaxBytes }
	if !fits() {
		s.expireAll(now)
		s.evictWorst(fits, now, slices.Collect(maps.Values(s.agents))...)
	}
	// Last, because the steps above may have emptied shelves, agent's too.
	if s.agents[agent] == nil && len(s.agents) >= s.opts.MaxAgents {
		s.expireAll(now)
		for len(s.agents) >= s.opts.MaxAgents {
			s.evictShelf()
		}
	}
}

// evictWorst evicts records from shelves, worst first, until fits. The worst
// has the largest product of idle time and size: what was not asked for in a
// long time and frees the most. Among equals the oldest goes.
// s.mu must be held.
func (s *Store) evictWorst(fits func() bool, now time.Time, shelves ...*shelf) {
	var h victims
	for !fits() {
		if h != nil {
			s.remove(heap.Pop(&h).(victim).rec, Evicted)
			continue
		}
		// Usually one is enough, and found in passing. But a large entry may
		// displace thousands of small ones: then the rest becomes a heap.
		worst := victim{}
		n := 0
		for _, sh := range shelves {
			n += len(sh.records)
			for _, rec := range sh.records {
				if v := (victim{rec, rec.weight(now)}); worst.rec == nil || v.before(worst) {
					worst = v
				}
			}
		}
		s.remove(worst.rec, Evicted)
		if fits() {
			return
		}
		h = make(victims, 0, n)
		for _, sh := range shelves {
			for _, rec := range sh.records {
				h = append(h, victim{rec, rec.weight(now)})
			}
		}
		heap.Init(&h)
	}
}

// weight is a float because nanoseconds times bytes overflow an int64. The
// ones keep fresh and empty entries comparable by the other factor.
func (rec *record) weight(now time.Time) float64 {
	return float64(now.Sub(rec.lastRead)+1) * float64(rec.size+1)
}

// evictShelf evicts all that the longest idle agent keeps. s.mu must be held.
func (s *Store) evictShelf() {
	var idlest *shelf
	for _, sh := range s.agents {
		if idlest == nil || sh.lastUsed.Before(idlest.lastUsed) ||
			sh.lastUsed.Equal(idlest.lastUsed) && sh.seq < idlest.seq {
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
	if now.Before(s.quietUntil) {
		return
	}
	oldest := now
	for _, sh := range s.agents {
		s.expire(sh, now)
		for _, rec := range sh.records {
			if rec.lastRead.Before(oldest) {
				oldest = rec.lastRead
			}
		}
	}
	// Reads only move later, and so do new entries.
	s.quietUntil = oldest.Add(s.opts.TTL)
}

// expire removes what has expired on a shelf. s.mu must be held.
func (s *Store) expire(sh *shelf, now time.Time) {
	for _, rec := range sh.records {
		if s.expired(rec, now) {
			s.remove(rec, Expired)
		}
	}
}

func (s *Store) expired(rec *record, now time.Time) bool {
	return now.Sub(rec.lastRead) >= s.opts.TTL
}

// remove takes a record out of the index, and its shelf when that was the
// last one. Without a reason it leaves no tombstone. s.mu must be held; the
// rest is done by unlock.
func (s *Store) remove(rec *record, reason Reason) {
	sh := rec.shelf
	delete(sh.records, rec.id)
	sh.size -= rec.size
	s.size -= rec.size
	s.entries--
	if len(sh.records) == 0 {
		delete(s.agents, sh.agent)
	}
	rec.gone = true
	switch reason {
	case Expired:
		s.expirations++
		s.graves.bury(sh.agent, rec.id, reason, rec.origin)
	case Evicted:
		s.evictions++
		s.graves.bury(sh.agent, rec.id, reason, rec.origin)
	}
	s.gone = append(s.gone, departure{
		agent: sh.agent, id: rec.id, seq: rec.seq, size: rec.size,
		inTier: rec.inTier, derived: rec.derived, reason: reason,
	})
}

type victim struct {
	rec    *record
	weight float64
}

func (v victim) before(o victim) bool {
	if v.weight != o.weight {
		return v.weight > o.weight
	}
	return v.rec.seq < o.rec.seq
}

// victims is a heap, the worst on top.
type victims []victim

func (v victims) Len() int { return len(v) }

func (v victims) Less(i, j int) bool { return v[i].before(v[j]) }
func (v victims) Swap(i, j int)      { v[i], v[j] = v[j], v[i] }
func (v *victims) Push(x any)        { *v = append(*v, x.(victim)) }

func (v *victims) Pop() any {
	last := (*v)[len(*v)-1]
	*v = (*v)[:len(*v)-1]
	return last
}

// validate makes every critical section end with check. Tests switch it on.
var validate = false

// check panics when the books of the index do not agree with its contents,
// or a quota is exceeded. s.mu must be held.
func (s *Store) check() {
	assert := func(ok bool, format string, args ...any) {
		if !ok {
			panic("cache: " + fmt.Sprintf(format, args...))
		}
	}
	var size int64
	var entries int
	for key, sh := range s.agents {
		var shelfSize int64
		for id, rec := range sh.records {
			assert(rec.id == id && rec.shelf == sh && !rec.gone, "%s: filed wrongly", id)
			assert(rec.data == nil || !rec.inTier, "%s: held twice", id)
			assert(s.graves.get(key, id) == nil, "%s: kept and buried", id)
			shelfSize += rec.size
		}
		assert(key == sh.agent, "%s: shelf filed wrongly", key)
		assert(len(sh.records) > 0, "%s: empty shelf", key)
		assert(shelfSize == sh.size, "%s: %d bytes, booked %d", key, shelfSize, sh.size)
		assert(shelfSize <= s.opts.MaxBytesPerAgent, "%s: %d bytes exceed the quota", key, shelfSize)
		assert(len(sh.records) <= s.opts.MaxEntriesPerAgent, "%s: %d entries exceed the quota", key, len(sh.records))
		size += shelfSize
		entries += len(sh.records)
	}
	assert(size == s.size && entries == s.entries, "%d bytes in %d entries, booked %d in %d", size, entries, s.size, s.entries)
	assert(size <= s.opts.MaxBytes, "%d bytes exceed the ceiling", size)
	assert(len(s.agents) <= s.opts.MaxAgents, "%d agents exceed the limit", len(s.agents))
	s.graves.check(assert)
}
