package cache

import (
	"errors"
	"io/fs"
	"time"
)

// A backing keeps entries beyond this process: for the next one, and for others that run
// beside it. A [dir] is one. The index decides what it holds: what the index lets go is
// buried there or removed, and what only the backing has is taken into the index when it
// is asked for.
//
// All but put and get of data are called with the lock of the index held.
type backing interface {
	// put keeps e in place of what was there for its agent and id. A process that is killed
	// meanwhile leaves the one or the other, or in place of one that is gone nothing.
	put(e *stored) error
	// get returns what is there, or an error that is [fs.ErrNotExist].
	get(agent agentKey, id ID) (*stored, error)
	// used notes when an entry was last read, and lastUsed returns the last time that any
	// process noted, or zero.
	used(agent agentKey, id ID, at time.Time)
	lastUsed(agent agentKey, id ID) time.Time
	// remove removes an entry, or what says that it is gone.
	remove(agent agentKey, id ID)
}

// A stored entry is what a backing has for an id.
type stored struct {
	agent  agentKey
	id     ID
	origin Origin
	terms  string    // see [Store.SetTerms]
	gone   Reason    // why there are no data, or ""
	read   time.Time // last; of one that is gone, when it went
	size   int64     // of data
	data   []byte    // nil also where they were not asked for
}

// usedEvery is the part of the TTL in which the backing hears once of reads.
const usedEvery = 64

// file gives rec to the backing. What fails costs no call: the entry is in memory.
func (l *local) file(rec *record) {
	agent := rec.shelf.agent
	err := l.backing.put(&stored{agent: agent, id: rec.id, origin: rec.origin, terms: rec.terms, read: l.opts.now(), size: int64(len(rec.data)), data: rec.data})
	l.mu.Lock()
	defer l.unlock()
	if err != nil {
		l.troubled(err)
		return
	}
	if !rec.removed || l.closed {
		rec.filed, rec.noted = true, rec.lastRead
		return
	}
	// It went meanwhile. If it has come again since, the bytes are the same.
	if l.record(agent, rec.id) == nil {
		l.unfile(agent, rec.id)
	}
}

// unfile has the backing say of an id what the index does: why it is gone, or nothing.
// l.mu must be held.
func (l *local) unfile(agent agentKey, id ID) {
	t := l.tombstones.get(agent, id)
	if t == nil {
		l.backing.remove(agent, id)
		return
	}
	if err := l.backing.put(&stored{agent: agent, id: id, origin: t.origin, gone: t.reason, read: l.opts.now()}); err != nil {
		l.backing.remove(agent, id)
		l.troubled(err)
	}
}

// troubled logs the first thing that fails at the backing.
func (l *local) troubled(err error) {
	l.trouble.Do(func() {
		l.opts.Logger.Warn("cache: some results cannot be kept on disk, and are lost at a restart", "error", err)
	})
}

// fetch brings an entry into memory that only the backing has.
func (l *local) fetch(agent agentKey, id ID) {
	if l.backing == nil || l.loaded(agent, id) {
		return
	}
	// One at a time: many calls for a large entry are to hold it once.
	l.fetching.Lock()
	defer l.fetching.Unlock()
	if l.loaded(agent, id) {
		return
	}
	e, err := l.backing.get(agent, id)
	l.mu.Lock()
	defer l.unlock()
	if l.closed {
		return
	}
	if err == nil {
		l.adopt(e, l.opts.now())
		return
	}
	if !errors.Is(err, fs.ErrNotExist) {
		l.troubled(err)
	}
	if rec := l.record(agent, id); rec != nil && rec.absent {
		l.remove(rec, Evicted) // by another process, or its file is broken
	}
}

// loaded reports whether an entry's data are in memory.
func (l *local) loaded(agent agentKey, id ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	rec := l.record(agent, id)
	return l.closed || rec != nil && !rec.absent
}

// record returns what the index has for an id, or nil. l.mu must be held.
func (l *local) record(agent agentKey, id ID) *record {
	if sh := l.agents[agent]; sh != nil {
		return sh.records[id]
	}
	return nil
}

// adopt takes into the index what the backing has. l.mu must be held.
func (l *local) adopt(e *stored, now time.Time) {
	rec := l.record(e.agent, e.id)
	size := e.size + e.origin.size()
	switch {
	case rec != nil && !rec.absent:
	case e.gone == "" && e.terms != l.terms:
		if rec != nil {
			l.remove(rec, Expired)
			return
		}
		l.tombstones.add(e.agent, e.id, Expired, e.origin)
		l.unfile(e.agent, e.id)
	case e.gone != "" && rec != nil: // another process has let it go
		rec.filed = false
		l.remove(rec, e.gone)
	case e.gone != "":
		l.tombstones.add(e.agent, e.id, e.gone, e.origin)
	case rec != nil:
		rec.data, rec.absent = e.data, false
	case size > l.opts.largest(): // the quota was larger
		l.tombstones.add(e.agent, e.id, Evicted, e.origin)
		l.unfile(e.agent, e.id)
	default:
		l.makeRoom(e.agent, size, now)
		rec := l.insert(e.agent, e.id, e.origin, e.data, size)
		rec.filed, rec.absent = true, e.data == nil
		rec.lastRead = e.read
		if e.read.After(now) { // by another clock
			rec.lastRead = now
		}
		rec.noted, rec.kept = rec.lastRead, rec.lastRead
		if rec.shelf.lastUsed.Before(rec.lastRead) {
			rec.shelf.lastUsed = rec.lastRead
		}
		if l.expired(rec, now) {
			l.remove(rec, Expired)
		}
	}
}
