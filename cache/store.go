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
	seq      uint64 // order of creation
	records  map[ID]*record
	size     int64     // of its records
	lastUsed time.Time // last Put or Get
}

// A record is one entry in the index.
type record struct {
	shelf    *shelf
	id       ID
	seq      uint64 // its key in ristretto, never used again
	origin   Origin
	size     int64
	lastRead time.Time
	gone     bool // removed from the index

	data    []byte // nil while ristretto holds the bytes
	inTier  bool   // ristretto holds the bytes
	derived []string
}

// A departure is what must be undone outside the lock after a removal.
type departure struct {
	agent   agentKey
	id      ID
	seq     uint64
	size    int64
	inTier  bool
	derived []string
	reason  Reason // empty when the agent was forgotten
}

// Put keeps data for agent and returns its id. Room is made before: other
// entries are evicted until the quotas hold with this one.
//
// data is kept, not copied: the caller must not modify it, and memory that it
// is a slice of stays alive. The same agent, origin and data again refresh
// the entry, or revive a gone one, under the same id. The error is
// [ErrTooLarge] or [ErrClosed].
func (s *Store) Put(agent string, origin Origin, data []byte) (ID, error) {
	size := int64(len(data) + len(origin.Tool) + len(origin.Arguments))
	if most := min(s.opts.MaxBytesPerAgent, s.opts.MaxBytes); size > most {
		return "", fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, size, most)
	}
	key := keyOf(agent)
	id := s.newID(key, origin, data)

	rec, err := s.insert(key, id, origin, data, size)
	if err != nil {
		return "", err
	}
	if rec != nil {
		s.moveToTier(rec, data)
	}
	return id, nil
}

// insert adds a record that holds data itself. It returns nil when the entry
// is there already. Unless it fails, the caller of a returned record must
// call moveToTier, which ends the call that insert counted.
func (s *Store) insert(key agentKey, id ID, origin Origin, data []byte, size int64) (*record, error) {
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return nil, ErrClosed
	}
	now := time.Now()
	if rec := s.live(key, id, now); rec != nil {
		rec.touch(now)
		return nil, nil
	}
	s.makeRoom(key, size, now)
	sh := s.agents[key]
	if sh == nil {
		s.seq++
		sh = &shelf{agent: key, seq: s.seq, records: make(map[ID]*record)}
		s.agents[key] = sh
	}
	s.seq++
	// Arguments are usually a slice of a whole request line.
	origin.Arguments = bytes.Clone(origin.Arguments)
	rec := &record{shelf: sh, id: id, seq: s.seq, origin: origin, size: size, data: data}
	rec.touch(now)
	sh.records[id] = rec
	sh.size += size
	s.size += size
	s.entries++
	s.graves.remove(key, id)
	s.calls.Add(1)
	return rec, nil
}

func (rec *record) touch(now time.Time) {
	rec.lastRead, rec.shelf.lastUsed = now, now
}

// Get returns an entry and counts as a read of it. The error is
// [ErrUnknown], a [*GoneError] or [ErrClosed].
func (s *Store) Get(agent string, id ID) (*Entry, error) {
	key := keyOf(agent)
	s.mu.Lock()
	defer s.unlock()
	var missed *record
	for {
		rec, err := s.find(key, id)
		if err != nil {
			return nil, err
		}
		if data, ok := s.dataOf(rec); ok {
			return &Entry{ID: id, Agent: agent, Origin: rec.origin, Data: data}, nil
		}
		if rec == missed {
			// Cannot happen as ristretto 2.4 is written. An id must answer
			// nevertheless.
			s.opts.Logger.Error("cache: ristretto lost an entry", "id", id)
			s.remove(rec, Evicted)
			continue
		}
		missed = rec
		// ristretto has let the bytes go and handBack has not yet run. It
		// has when Wait returns: one goroutine does both, in order.
		s.calls.Add(1)
		s.mu.Unlock()
		s.bytes.Wait()
		s.calls.Done()
		s.mu.Lock()
	}
}

// find returns the record of an id and counts as a read, or says why there
// is none. Unknown ids and other agents' take the same steps. s.mu must be
// held.
func (s *Store) find(key agentKey, id ID) (*record, error) {
	if s.closed {
		return nil, ErrClosed
	}
	now := time.Now()
	if rec := s.live(key, id, now); rec != nil {
		rec.touch(now)
		return rec, nil
	}
	grave := s.graves.get(key, id)
	issued := s.issued(key, id)
	switch {
	case grave != nil:
		return nil, &GoneError{ID: id, Reason: grave.reason, Origin: grave.origin}
	case issued:
		return nil, &GoneError{ID: id, Reason: Evicted}
	}
	return nil, ErrUnknown
}

// live returns a record that has not expired, or nil. s.mu must be held.
func (s *Store) live(key agentKey, id ID, now time.Time) *record {
	sh := s.agents[key]
	if sh == nil {
		return nil
	}
	rec := sh.records[id]
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
	s.graves.forget(key)
}

// unlock ends a critical section. What the section removed is released and
// logged after it, because ristretto's Del may wait for a goroutine that
// waits for mu.
func (s *Store) unlock() {
	if validate {
		s.check()
	}
	gone := s.gone
	s.gone = nil
	if len(gone) == 0 || s.closed {
		s.mu.Unlock()
		return
	}
	s.calls.Add(1)
	defer s.calls.Done()
	s.mu.Unlock()
	for _, d := range gone {
		if d.inTier {
			s.bytes.Del(d.seq)
		}
		for _, name := range d.derived {
			s.derived.Del(name)
		}
		if d.reason != "" {
			s.opts.Logger.LogAttrs(context.Background(), slog.LevelDebug, "cache: entry gone",
				slog.String("reason", string(d.reason)), slog.String("id", string(d.id)),
				slog.String("agent", d.agent.String()), slog.Int64("bytes", d.size))
		}
	}
}
