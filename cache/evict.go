package cache

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// makeRoom evicts until an entry of size bytes fits agent's quota, the
// ceiling, and the number of agents. What has expired goes first. l.mu must be
// held.
func (l *local) makeRoom(agent agentKey, size int64, now time.Time) {
	fitsQuota := func() bool {
		sh := l.agents[agent]
		return sh == nil || len(sh.records) < l.opts.MaxEntriesPerAgent && sh.size+size <= l.opts.MaxBytesPerAgent
	}
	fitsCeiling := func() bool { return l.size+size <= l.opts.MaxBytes }
	fitsAgents := func() bool { return l.agents[agent] != nil || len(l.agents) < l.opts.MaxAgents }
	if fitsQuota() && fitsCeiling() && fitsAgents() {
		return
	}
	l.expireAll(now)
	if !fitsQuota() {
		l.evictWorst(fitsQuota, now, l.agents[agent])
	}
	if !fitsCeiling() {
		var all []*shelf
		for _, sh := range l.agents {
			all = append(all, sh)
		}
		l.evictWorst(fitsCeiling, now, all...)
	}
	// Last, because the steps above may have emptied shelves, agent's too.
	for !fitsAgents() {
		l.evictIdlest()
	}
}

// evictWorst evicts records from shelves, worst first and at least one, until
// fits. The worst has the largest product of idle time and size: what was not
// asked for in a long time and frees the most. Among equals the oldest goes.
// l.mu must be held.
func (l *local) evictWorst(fits func() bool, now time.Time, shelves ...*shelf) {
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
	l.remove(slices.MinFunc(victims, worstFirst).rec, Evicted)
	if fits() {
		return
	}
	slices.SortFunc(victims, worstFirst)
	for _, v := range victims[1:] {
		l.remove(v.rec, Evicted)
		if fits() {
			return
		}
	}
}

// weight is a float because microseconds times bytes overflow an int64. The
// ones keep fresh and empty entries comparable by the other factor.
func (rec *record) weight(now time.Time) float64 {
	return float64(now.Sub(rec.lastRead).Microseconds()+1) * float64(rec.size+1)
}

// evictIdlest evicts all that the longest idle agent keeps. l.mu must be held.
func (l *local) evictIdlest() {
	var idlest *shelf
	for _, sh := range l.agents {
		if idlest == nil || cmp.Or(sh.lastUsed.Compare(idlest.lastUsed), cmp.Compare(sh.seq, idlest.seq)) < 0 {
			idlest = sh
		}
	}
	for _, rec := range idlest.records {
		l.remove(rec, Evicted)
	}
}

// sweep implements [index].
func (l *local) sweep() {
	l.mu.Lock()
	defer l.unlock()
	l.expireAll(l.opts.now())
}

// expireAll removes all that has expired. l.mu must be held.
func (l *local) expireAll(now time.Time) {
	for _, sh := range l.agents {
		for _, rec := range sh.records {
			if l.expired(rec, now) {
				l.remove(rec, Expired)
			}
		}
	}
}

// expired looks at the backing before it says so: another process may have read rec.
func (l *local) expired(rec *record, now time.Time) bool {
	if now.Sub(rec.lastRead) < l.opts.TTL {
		return false
	}
	if rec.filed {
		if read := l.backing.lastUsed(rec.shelf.agent, rec.id); read.After(rec.lastRead) && !read.After(now) {
			rec.lastRead, rec.noted = read, read
		}
	}
	return now.Sub(rec.lastRead) >= l.opts.TTL
}

// validate makes every critical section end with check. Tests switch it on.
var validate = false

// check panics when the sums of the store do not agree with its contents,
// or a quota is exceeded. l.mu must be held.
func (l *local) check() {
	assert := func(ok bool, format string, args ...any) {
		if !ok {
			panic("cache: " + fmt.Sprintf(format, args...))
		}
	}
	var size int64
	for key, sh := range l.agents {
		var shelfSize int64
		for id, rec := range sh.records {
			assert(rec.id == id && rec.shelf == sh && !rec.removed, "%s: filed wrongly", id)
			assert(l.tombstones.get(key, id) == nil, "%s: kept and gone", id)
			shelfSize += rec.size
		}
		assert(key == sh.agent, "%s: shelf filed wrongly", key)
		assert(len(sh.records) > 0, "%s: empty shelf", key)
		assert(shelfSize == sh.size, "%s: %d bytes, summed %d", key, shelfSize, sh.size)
		assert(shelfSize <= l.opts.MaxBytesPerAgent, "%s: %d bytes exceed the quota", key, shelfSize)
		assert(len(sh.records) <= l.opts.MaxEntriesPerAgent, "%s: %d entries exceed the quota", key, len(sh.records))
		size += shelfSize
	}
	assert(size == l.size, "%d bytes, summed %d", size, l.size)
	assert(size <= l.opts.MaxBytes, "%d bytes exceed the ceiling", size)
	assert(len(l.agents) <= l.opts.MaxAgents, "%d agents exceed the limit", len(l.agents))
	l.tombstones.check(assert)
}
