package cache

import (
	"bytes"
	"sync"
	"time"
)

// A local index is in memory, and perhaps backed by a folder. What is kept in it is the
// process's own.
type local struct {
	opts    *Options // as those of the Store
	derived *artefacts
	counts  *counters
	backing backing // nil: none

	trouble  sync.Once  // logs what fails there
	fetching sync.Mutex // held while an entry is read from there

	mu         sync.Mutex // guards the fields below
	closed     bool
	agents     map[agentKey]*shelf // those with at least one entry
	tombstones tombstones
	terms      string    // of all that is kept
	size       int64     // bytes kept, all agents
	seq        uint64    // of the newest record or shelf
	removed    []removal // in this critical section, for the log; see unlock
}

var _ index = (*local)(nil)

func newLocal(opts *Options, derived *artefacts, counts *counters) *local {
	return &local{
		opts: opts, derived: derived, counts: counts, terms: opts.Terms,
		agents:     make(map[agentKey]*shelf),
		tombstones: newTombstones(opts.tombstones, opts.MaxTombstones),
	}
}

// close implements [index]. What is in the folder stays.
func (l *local) close() {
	l.mu.Lock()
	defer l.unlock()
	l.closed = true
	clear(l.agents)
	l.tombstones = newTombstones(0, 0)
	l.size = 0
}

// A shelf is what one agent keeps. It exists while it has a record.
type shelf struct {
	agent    agentKey
	name     string // of the agent, for [Store.List]; "" if it is long, or not known
	seq      uint64 // order of creation
	records  map[ID]*record
	size     int64     // of its records
	lastUsed time.Time // last Put or Get
}

// A record is one entry of a shelf.
type record struct {
	shelf    *shelf
	id       ID
	seq      uint64 // order of creation
	origin   Origin
	terms    string // see SetTerms
	data     []byte
	size     int64 // of data and origin
	lastRead time.Time
	kept     time.Time // when it came, the last time
	removed  bool
	filed    bool      // the backing has it
	absent   bool      // only the backing has data
	noted    time.Time // what the backing knows of lastRead
	made     anchor    // of what is derived from it
}

// put implements [index]. With a folder, the entry is on disk when it returns.
func (l *local) put(e *entering) error {
	lasts := l.backing != nil && (l.opts.Dir.Lasts == nil || l.opts.Dir.Lasts(e.name))
	rec, filed, err := l.insertOrTouch(e, lasts)
	if err == nil && lasts && !filed {
		l.file(rec)
	}
	return err
}

// insertOrTouch is put in memory. It returns the record, and whether the backing has it or what
// is to be there in its place. Lasts says that it should.
func (l *local) insertOrTouch(e *entering, lasts bool) (rec *record, filed bool, err error) {
	l.mu.Lock()
	defer l.unlock()
	if l.closed {
		return nil, false, ErrClosed
	}
	now := l.opts.now()
	rec = l.live(e.agent, e.id, now)
	if rec == nil && e.terms != "" && e.terms != l.terms { // it may show what is hidden by now
		origin := e.origin
		origin.Arguments = bytes.Clone(origin.Arguments)
		l.tombstones.add(e.agent, e.id, Expired, origin)
		if lasts {
			l.unfile(e.agent, e.id)
		}
		return nil, true, nil
	}
	if rec == nil {
		l.makeRoom(e.agent, e.size, now)
		// Arguments are usually a slice of a whole request line.
		origin := e.origin
		origin.Arguments = bytes.Clone(origin.Arguments)
		rec = l.insert(e.agent, e.id, origin, e.data, e.size)
	}
	if rec.absent {
		rec.data, rec.absent = e.data, false
	}
	rec.kept = now
	rec.shelf.named(e.name)
	l.touch(rec, now)
	return rec, rec.filed, nil
}

// insert files a record, for which there is room. l.mu must be held.
func (l *local) insert(key agentKey, id ID, origin Origin, data []byte, size int64) *record {
	sh := l.agents[key]
	if sh == nil {
		l.seq++
		sh = &shelf{agent: key, seq: l.seq, records: make(map[ID]*record)}
		l.agents[key] = sh
	}
	l.seq++
	rec := &record{shelf: sh, id: id, seq: l.seq, origin: origin, terms: l.terms, data: data, size: size}
	sh.records[id] = rec
	sh.size += size
	l.size += size
	l.tombstones.remove(key, id)
	return rec
}

// touch notes that rec is read. l.mu must be held.
func (l *local) touch(rec *record, now time.Time) {
	rec.lastRead, rec.shelf.lastUsed = now, now
	if rec.filed && now.Sub(rec.noted) >= l.opts.TTL/usedEvery {
		rec.noted = now
		l.backing.used(rec.shelf.agent, rec.id, now)
	}
}

// setTerms implements [index].
func (l *local) setTerms(terms string) {
	l.mu.Lock()
	defer l.unlock()
	if l.terms == terms {
		return
	}
	l.terms = terms
	for _, sh := range l.agents {
		for _, rec := range sh.records {
			l.remove(rec, Expired)
		}
	}
}

// getTerms implements [index].
func (l *local) getTerms() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.terms
}

// get implements [index].
func (l *local) get(agent agentKey, name string, id ID) (*kept, error) {
	l.fetch(agent, id)
	l.mu.Lock()
	defer l.unlock()
	rec, err := l.find(agent, id, true)
	if err != nil {
		return nil, err
	}
	rec.shelf.named(name)
	return &kept{rec.origin, rec.data}, nil
}

// look implements [index]. What only another process keeps stays there: it would take room.
func (l *local) look(agent agentKey, id ID) (*kept, error) {
	l.mu.Lock()
	rec := l.record(agent, id)
	absent := rec != nil && rec.absent
	l.mu.Unlock()
	if absent {
		l.fetch(agent, id)
	}
	l.mu.Lock()
	defer l.unlock()
	rec, err := l.find(agent, id, false)
	if err != nil {
		return nil, err
	}
	return &kept{rec.origin, rec.data}, nil
}

// anchor implements [index].
func (l *local) anchor(agent agentKey, id ID, read bool) (*anchor, error) {
	l.mu.Lock()
	defer l.unlock()
	rec, err := l.find(agent, id, read)
	if err != nil {
		return nil, err
	}
	return &rec.made, nil
}

// find returns the record of an id that the agent was given, or says why there is none. Read
// says that it counts as one. l.mu must be held.
func (l *local) find(agent agentKey, id ID, read bool) (*record, error) {
	if l.closed {
		return nil, ErrClosed
	}
	now := l.opts.now()
	if rec := l.live(agent, id, now); rec != nil {
		if read {
			l.touch(rec, now)
		}
		return rec, nil
	}
	t := l.tombstones.get(agent, id)
	if t == nil {
		return nil, &GoneError{ID: id, Reason: Evicted}
	}
	return nil, l.opts.gone(id, t.reason, t.origin)
}

// live returns a record that has not expired, or nil. l.mu must be held.
func (l *local) live(key agentKey, id ID, now time.Time) *record {
	rec := l.record(key, id)
	if rec != nil && l.expired(rec, now) {
		l.remove(rec, Expired)
		return nil
	}
	return rec
}

// tombstone is the error for an entry that is known to be gone, or nil.
func (l *local) tombstone(agent agentKey, id ID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tombstones.get(agent, id)
	if t == nil {
		return nil
	}
	return l.opts.gone(id, t.reason, t.origin)
}

// bytes is how much is kept.
func (l *local) bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// A leaving entry is one that is to be kept elsewhere.
type leaving struct {
	entering
	idle time.Duration // since it was read last
}

// all returns what is kept.
func (l *local) all() (all []leaving) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opts.now()
	for _, sh := range l.agents {
		for _, rec := range sh.records {
			all = append(all, leaving{entering{sh.agent, sh.name, rec.id, rec.origin, rec.terms, rec.data, rec.size}, now.Sub(rec.lastRead)})
		}
	}
	return all
}

// leave drops an entry, and what is known of its end: another index has it.
func (l *local) leave(agent agentKey, id ID) {
	l.mu.Lock()
	defer l.unlock()
	if rec := l.record(agent, id); rec != nil {
		l.remove(rec, "")
	}
	l.tombstones.remove(agent, id)
}

// forget implements [index].
func (l *local) forget(agent agentKey) {
	l.mu.Lock()
	defer l.unlock()
	if sh := l.agents[agent]; sh != nil {
		for _, rec := range sh.records {
			l.remove(rec, "")
		}
	}
	l.tombstones.forget(agent)
}

// A removal is what the log says of a record that went.
type removal struct {
	rec    *record
	reason Reason
}

// remove takes a record out of the store, and its shelf when that was the
// last one. Without a reason it leaves no tombstone. l.mu must be held.
func (l *local) remove(rec *record, reason Reason) {
	sh := rec.shelf
	delete(sh.records, rec.id)
	sh.size -= rec.size
	l.size -= rec.size
	if len(sh.records) == 0 {
		delete(l.agents, sh.agent)
	}
	rec.removed = true
	l.derived.drop(&rec.made)
	if reason != "" {
		l.counts.removed(reason)
		l.tombstones.add(sh.agent, rec.id, reason, rec.origin)
		l.removed = append(l.removed, removal{rec, reason})
	}
	if rec.filed {
		l.unfile(sh.agent, rec.id)
	}
}

// unlock ends a critical section, and logs what was removed in it: a log that
// is slow must not hold up the others.
func (l *local) unlock() {
	if validate {
		l.check()
	}
	removed := l.removed
	l.removed = nil
	l.mu.Unlock()
	for _, r := range removed {
		logGone(l.opts.Logger, r.reason, r.rec.id, r.rec.shelf.agent, r.rec.size)
	}
}
