package cache

import (
	"crypto/hmac"
	"fmt"
)

// An index knows what each agent keeps, and what became of the rest. It is asked only for
// ids that the agent was given. After close, its errors are [ErrClosed].
type index interface {
	// put makes room for an entry and keeps it, or notes that it came again.
	put(e *entering) error
	// get returns an entry, and counts as a read of it. The error is a [*GoneError] where there
	// is none, a [*fleet.AwayError] where nobody can tell.
	get(agent agentKey, name string, id ID) (*kept, error)
	// look is get, and does not count.
	look(agent agentKey, id ID) (*kept, error)
	// anchor is get, for what is derived from the entry. Read says whether it counts.
	anchor(agent agentKey, id ID, read bool) (*anchor, error)
	// forget drops all that an agent keeps, and what is known of the rest.
	forget(agent agentKey)
	// setTerms has what was kept on other terms expire.
	setTerms(terms string)
	getTerms() string
	// list is [Store.List].
	list(most int) (list []Listed, all int)
	// totals says how much is kept.
	totals(now *Stats)
	// sweep frees what has expired. It is called now and then.
	sweep()
	close()
}

// An entering entry is one that is put. Its terms are those of its call, see [Origin.Terms].
type entering struct {
	agent  agentKey
	name   string // the agent's
	id     ID
	origin Origin // without terms
	terms  string
	data   []byte
	size   int64 // of data and origin
}

// A kept entry is what an index has for an id.
type kept struct {
	origin Origin
	data   []byte
}

// Put keeps data for agent and returns its id. Room is made before: other
// entries are evicted until the quotas hold with this one.
//
// data is kept, not copied: the caller must not modify it, and memory that it
// is a slice of stays alive. The same agent, origin and data again refresh
// the entry, or revive a gone one, under the same id. With [Options.Dir], the entry is
// on disk when Put returns, with [Options.Fleet] in the store, or where that is away in this
// process until it is back. The error is [ErrTooLarge] or [ErrClosed].
func (s *Store) Put(agent string, origin Origin, data []byte) (ID, error) {
	return s.put(keyOf(agent), agent, origin, data)
}

func (s *Store) put(agent agentKey, name string, origin Origin, data []byte) (ID, error) {
	size := int64(len(data)) + origin.size()
	if most := s.opts.largest(); size > most {
		return "", fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, size, most)
	}
	e := &entering{agent, name, newID(s.keys()[0], agent, origin, data), origin, origin.Terms, data, size}
	e.origin.Terms = ""
	if err := s.index.put(e); err != nil {
		return "", err
	}
	return e.id, nil
}

// largest is the size of the largest entry that there may be.
func (o *Options) largest() int64 { return min(o.MaxBytesPerAgent, o.MaxBytes) }

// Terms are those of now.
func (s *Store) Terms() string { return s.index.getTerms() }

// SetTerms says what is taken out of results from now on. Entries that were kept on other
// terms expire at once: they may show what is hidden now. So do those of calls that began
// before, see [Origin.Terms].
func (s *Store) SetTerms(terms string) { s.index.setTerms(terms) }

// Get returns an entry and counts as a read of it. The error is
// [ErrUnknown], a [*GoneError] or [ErrClosed], or a [*fleet.AwayError] while the store of
// [Options.Fleet] is away. Then it still returns what this process has put or read, if the
// store had that within the TTL.
func (s *Store) Get(agent string, id ID) (*Entry, error) {
	key := keyOf(agent)
	entry, err := s.get(key, agent, id)
	s.counts.read(err)
	return entry, err
}

func (s *Store) get(agent agentKey, name string, id ID) (*Entry, error) {
	if !s.issued(agent, id) {
		return nil, ErrUnknown
	}
	k, err := s.index.get(agent, name, id)
	if err != nil {
		return nil, err
	}
	return &Entry{ID: id, Agent: name, Origin: k.origin, Data: k.data}, nil
}

// issued reports whether id can only have come from newID for this agent,
// in this store or in one with the same key. Unknown ids and other agents' take the same
// steps.
func (s *Store) issued(agent agentKey, id ID) bool {
	if len(id) != idLen {
		return false
	}
	for _, key := range s.keys() {
		if hmac.Equal([]byte(tag(key, agent, string(id[:bodyLen]))), []byte(id[bodyLen:])) {
			return true
		}
	}
	return false
}

// Forget drops all that agent keeps, tombstones too: its session has ended.
// Its ids answer as evicted afterwards, without their origins.
func (s *Store) Forget(agent string) { s.index.forget(keyOf(agent)) }

// gone is the error for an id whose entry went.
func (o *Options) gone(id ID, reason Reason, origin Origin) error {
	gone := &GoneError{ID: id, Reason: reason, Origin: origin}
	if reason == Expired {
		gone.TTL = o.TTL
	}
	return gone
}
