package cache

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"
)

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
	seq      uint64 // order of creation, never used again
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
	derived  []string  // names of artefacts that ristretto was given, oldest first
}

// Put keeps data for agent and returns its id. Room is made before: other
// entries are evicted until the quotas hold with this one.
//
// data is kept, not copied: the caller must not modify it, and memory that it
// is a slice of stays alive. The same agent, origin and data again refresh
// the entry, or revive a gone one, under the same id. With [Options.Dir], the entry is
// on disk when Put returns. The error is [ErrTooLarge] or [ErrClosed].
func (s *Store) Put(agent string, origin Origin, data []byte) (ID, error) {
	size, err := s.sized(origin, data)
	if err != nil {
		return "", err
	}
	key := keyOf(agent)
	id := newID(s.opts.Key, key, origin, data)
	lasts := s.backing != nil && (s.opts.Dir.Lasts == nil || s.opts.Dir.Lasts(agent))
	rec, filed, err := s.put(key, agent, id, origin, data, size, lasts)
	if err != nil {
		return "", err
	}
	if lasts && !filed {
		s.file(rec)
	}
	return id, nil
}

// sized is the size of an entry, or [ErrTooLarge].
func (s *Store) sized(origin Origin, data []byte) (size int64, err error) {
	size = int64(len(data)) + origin.size()
	if most := min(s.opts.MaxBytesPerAgent, s.opts.MaxBytes); size > most {
		err = fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, size, most)
	}
	return size, err
}

// put is Put for the index. It returns the record, and whether the backing has it or what
// is to be there in its place. Lasts says that it should.
func (s *Store) put(key agentKey, agent string, id ID, origin Origin, data []byte, size int64, lasts bool) (rec *record, filed bool, err error) {
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return nil, false, ErrClosed
	}
	now := time.Now()
	rec = s.live(key, id, now)
	if rec == nil && origin.Terms != "" && origin.Terms != s.terms { // it may show what is hidden by now
		origin.Arguments = bytes.Clone(origin.Arguments)
		s.tombstones.add(key, id, Expired, origin)
		if lasts {
			s.unfile(key, id)
		}
		return nil, true, nil
	}
	if rec == nil {
		s.makeRoom(key, size, now)
		// Arguments are usually a slice of a whole request line.
		origin.Arguments = bytes.Clone(origin.Arguments)
		rec = s.insert(key, id, origin, data, size)
	}
	if rec.absent {
		rec.data, rec.absent = data, false
	}
	rec.kept = now
	rec.shelf.named(agent)
	s.touch(rec, now)
	return rec, rec.filed, nil
}

// insert files a record, for which there is room. s.mu must be held.
func (s *Store) insert(key agentKey, id ID, origin Origin, data []byte, size int64) *record {
	sh := s.agents[key]
	if sh == nil {
		s.seq++
		sh = &shelf{agent: key, seq: s.seq, records: make(map[ID]*record)}
		s.agents[key] = sh
	}
	s.seq++
	rec := &record{shelf: sh, id: id, seq: s.seq, origin: origin, terms: s.terms, data: data, size: size}
	sh.records[id] = rec
	sh.size += size
	s.size += size
	s.tombstones.remove(key, id)
	return rec
}

// touch notes that rec is read. s.mu must be held.
func (s *Store) touch(rec *record, now time.Time) {
	rec.lastRead, rec.shelf.lastUsed = now, now
	if rec.filed && now.Sub(rec.noted) >= s.opts.TTL/usedEvery {
		rec.noted = now
		s.backing.used(rec.shelf.agent, rec.id, now)
	}
}

// Terms are those of now.
func (s *Store) Terms() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.terms
}

// SetTerms says what is taken out of results from now on. Entries that were kept on other
// terms expire at once: they may show what is hidden now. So do those of calls that began
// before, see [Origin.Terms].
func (s *Store) SetTerms(terms string) {
	s.mu.Lock()
	defer s.unlock()
	if s.terms == terms {
		return
	}
	s.terms = terms
	for _, sh := range s.agents {
		for _, rec := range sh.records {
			s.remove(rec, Expired)
		}
	}
}

// Get returns an entry and counts as a read of it. The error is
// [ErrUnknown], a [*GoneError] or [ErrClosed].
func (s *Store) Get(agent string, id ID) (*Entry, error) {
	key := keyOf(agent)
	s.fetch(key, id)
	s.mu.Lock()
	defer s.unlock()
	rec, err := s.find(key, id)
	s.stats.read(err)
	if err != nil {
		return nil, err
	}
	rec.shelf.named(agent)
	return &Entry{ID: id, Agent: agent, Origin: rec.origin, Data: rec.data}, nil
}

// find is peek, and counts as a read. s.mu must be held.
func (s *Store) find(key agentKey, id ID) (*record, error) {
	rec, err := s.peek(key, id)
	if err == nil {
		s.touch(rec, time.Now())
	}
	return rec, err
}

// peek returns the record of an id, or says why there is none. Unknown ids and other
// agents' take the same steps. s.mu must be held.
func (s *Store) peek(key agentKey, id ID) (*record, error) {
	if s.closed {
		return nil, ErrClosed
	}
	if rec := s.live(key, id, time.Now()); rec != nil {
		return rec, nil
	}
	t := s.tombstones.get(key, id)
	issued := s.issued(key, id)
	switch {
	case t != nil:
		gone := &GoneError{ID: id, Reason: t.reason, Origin: t.origin}
		if t.reason == Expired {
			gone.TTL = s.opts.TTL
		}
		return nil, gone
	case issued:
		return nil, &GoneError{ID: id, Reason: Evicted}
	}
	return nil, ErrUnknown
}

// live returns a record that has not expired, or nil. s.mu must be held.
func (s *Store) live(key agentKey, id ID, now time.Time) *record {
	rec := s.record(key, id)
	if rec != nil && s.expired(rec, now) {
		s.remove(rec, Expired)
		return nil
	}
	return rec
}

// Forget drops all that agent keeps, tombstones too: its session has ended.
// Its ids answer as evicted afterwards, without their origins.
func (s *Store) Forget(agent string) {
	key := keyOf(agent)
	s.mu.Lock()
	defer s.unlock()
	if sh := s.agents[key]; sh != nil {
		for _, rec := range sh.records {
			s.remove(rec, "")
		}
	}
	s.tombstones.forget(key)
}

// A removal is what the log says of a record that went.
type removal struct {
	rec    *record
	reason Reason
}

// remove takes a record out of the store, and its shelf when that was the
// last one. Without a reason it leaves no tombstone. s.mu must be held.
func (s *Store) remove(rec *record, reason Reason) {
	sh := rec.shelf
	delete(sh.records, rec.id)
	sh.size -= rec.size
	s.size -= rec.size
	if len(sh.records) == 0 {
		delete(s.agents, sh.agent)
	}
	rec.removed = true
	for _, name := range rec.derived {
		s.derived.Del(name)
	}
	if reason != "" {
		s.stats.removed(reason)
		s.tombstones.add(sh.agent, rec.id, reason, rec.origin)
		s.removed = append(s.removed, removal{rec, reason})
	}
	if rec.filed {
		s.unfile(sh.agent, rec.id)
	}
}

// unlock ends a critical section, and logs what was removed in it: a log that
// is slow must not hold up the others.
func (s *Store) unlock() {
	if validate {
		s.check()
	}
	removed := s.removed
	s.removed = nil
	s.mu.Unlock()
	for _, r := range removed {
		s.opts.Logger.LogAttrs(context.Background(), slog.LevelDebug, "cache: entry gone",
			slog.String("reason", string(r.reason)), slog.String("id", string(r.rec.id)),
			slog.String("agent", r.rec.shelf.agent.String()), slog.Int64("bytes", r.rec.size))
	}
}
