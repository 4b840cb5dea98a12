// Package cache keeps tool results too large for an agent's context.
//
//	tools/call → middleware → Store.Put → cache_id → proxy_filter → Store.Get
//
//	Store   index: agent → id → size, last read, origin   (the truth)
//	  ├─ bytes      ristretto; what it does not hold, the index holds
//	  ├─ derived    ristretto; may drop anything, and it is built again
//	  └─ tombstones what an expired or evicted id was, for the error
//
// Each entry belongs to one agent; no call reads across agents. An id that
// was handed out always answers: with its bytes, or with a [GoneError].
// Sizes are bytes: of the result as received, and of its [Origin].
package cache

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dgraph-io/ristretto/v2"
)

// Options configures a [Store]. The zero value is ready to use; negative
// numbers are errors.
type Options struct {
	// MaxEntriesPerAgent bounds how many results one agent may keep. Zero
	// means 20.
	MaxEntriesPerAgent int
	// MaxBytesPerAgent bounds what one agent may keep. Zero means 100 MiB.
	MaxBytesPerAgent int64
	// MaxBytes bounds what all agents together may keep. Zero means 512 MiB.
	MaxBytes int64
	// MaxAgents bounds how many agents may keep anything. Zero means 1000.
	MaxAgents int
	// MaxTombstones bounds how many gone entries are remembered with their
	// origin, over all agents; of one agent, at most 10 for each entry that
	// it may keep. An id whose tombstone is dropped still answers, as
	// evicted, without its origin. Zero means 10,000.
	MaxTombstones int
	// TTL counts from the last read. Zero means 5 minutes.
	TTL time.Duration
	// DerivedBytes bounds what is kept of artefacts, by the sizes that their
	// builders state. Zero means 256 MiB.
	DerivedBytes int64
	// Key makes ids unguessable. Stores with the same key give the same ids
	// and recognise each other's. It has at least 16 bytes; nil means a
	// random key for this store.
	Key []byte
	// Logger receives evictions at debug level. Nil discards them.
	Logger *slog.Logger
}

// A Store keeps results for agents. It is safe for concurrent use.
//
// ristretto calls back into the index from the goroutine that serves its
// writes. So mu is never held while waiting for that goroutine: only
// ristretto's Get, which does not block, is called under mu; Set, Wait and Del
// are called without it, counted in calls so that Close can wait for them.
type Store struct {
	opts Options // fixed at creation, defaults filled in

	bytes   *ristretto.Cache[uint64, *parcel]
	derived *ristretto.Cache[string, *artefact]

	stop  chan struct{}  // closed by Close
	calls sync.WaitGroup // the sweeper, and calls inside ristretto

	mu      sync.Mutex // guards the fields below
	closed  bool
	agents  map[agentKey]*shelf // those with at least one entry
	graves  graveyard
	flights map[string]*flight // artefacts being built, by artefactName
	size    int64              // bytes kept, all agents
	entries int                // entries kept, all agents
	seq     uint64             // of the newest record or shelf
	gone    []departure        // removed in this critical section; see unlock

	quietUntil time.Time // nothing expires before

	evictions, expirations int64
}

// Stats is a snapshot of a [Store].
type Stats struct {
	Agents     int   // with at least one entry
	Entries    int   // all agents
	Bytes      int64 // of these entries
	IndexBytes int64 // of Bytes, those that ristretto does not hold
	Tombstones int

	Evictions   int64 // since New; Forget does not count
	Expirations int64 // since New
}

// ErrClosed is returned by calls on a closed [Store].
var ErrClosed = errors.New("cache: closed")

// New returns an empty store. Close ends its goroutines.
func New(opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	// A quarter of headroom: ristretto applies our deletions late, and
	// refuses newcomers as long as its books are full.
	return newStore(opts, opts.MaxBytes+opts.MaxBytes/4)
}

// newStore is New with the bound on what ristretto holds of the bytes. No
// bound makes an id fail; a small one moves bytes into the index.
func newStore(opts Options, tierBytes int64) (*Store, error) {
	s := &Store{
		opts:    opts,
		stop:    make(chan struct{}),
		agents:  make(map[agentKey]*shelf),
		graves:  newGraveyard(10*opts.MaxEntriesPerAgent, opts.MaxTombstones),
		flights: make(map[string]*flight),
	}
	// ristretto advises ten counters for each item it may hold; a counter
	// takes three bytes.
	counters := min(10*int64(opts.MaxAgents)*int64(opts.MaxEntriesPerAgent), 1<<20)
	var err error
	s.bytes, err = ristretto.NewCache(&ristretto.Config[uint64, *parcel]{
		NumCounters:        counters,
		MaxCost:            tierBytes,
		BufferItems:        64,
		IgnoreInternalCost: true,
		OnEvict:            s.handBack,
	})
	if err != nil {
		return nil, fmt.Errorf("cache: bytes: %w", err)
	}
	s.derived, err = ristretto.NewCache(&ristretto.Config[string, *artefact]{
		NumCounters:        counters,
		MaxCost:            opts.DerivedBytes,
		BufferItems:        64,
		IgnoreInternalCost: true,
	})
	if err != nil {
		s.bytes.Close()
		return nil, fmt.Errorf("cache: derived: %w", err)
	}
	s.calls.Go(s.sweep)
	return s, nil
}

func (o Options) withDefaults() (Options, error) {
	for _, v := range []struct {
		name  string
		value int64
	}{
		{"MaxEntriesPerAgent", int64(o.MaxEntriesPerAgent)},
		{"MaxBytesPerAgent", o.MaxBytesPerAgent},
		{"MaxBytes", o.MaxBytes},
		{"MaxAgents", int64(o.MaxAgents)},
		{"MaxTombstones", int64(o.MaxTombstones)},
		{"TTL", int64(o.TTL)},
		{"DerivedBytes", o.DerivedBytes},
	} {
		if v.value < 0 {
			return o, fmt.Errorf("cache: %s is negative: %d", v.name, v.value)
		}
	}
	if o.Key != nil && len(o.Key) < 16 {
		return o, fmt.Errorf("cache: Key has %d bytes, fewer than 16", len(o.Key))
	}
	if o.Key == nil {
		o.Key = make([]byte, 32)
		rand.Read(o.Key) // never fails: see crypto/rand
	}
	o.MaxEntriesPerAgent = cmp.Or(o.MaxEntriesPerAgent, 20)
	o.MaxBytesPerAgent = cmp.Or(o.MaxBytesPerAgent, 100<<20)
	o.MaxBytes = cmp.Or(o.MaxBytes, 512<<20)
	o.MaxAgents = cmp.Or(o.MaxAgents, 1000)
	o.MaxTombstones = cmp.Or(o.MaxTombstones, 10_000)
	o.TTL = cmp.Or(o.TTL, 5*time.Minute)
	o.DerivedBytes = cmp.Or(o.DerivedBytes, 256<<20)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Stats counts what the store keeps now. It visits every entry.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.unlock()
	st := Stats{
		Agents:      len(s.agents),
		Entries:     s.entries,
		Bytes:       s.size,
		Tombstones:  s.graves.len(),
		Evictions:   s.evictions,
		Expirations: s.expirations,
	}
	for _, sh := range s.agents {
		for _, rec := range sh.records {
			st.IndexBytes += int64(len(rec.data))
		}
	}
	return st
}

// Close drops everything and returns when the store's goroutines, and calls
// that were inside ristretto, have ended. Artefacts still being built are
// not waited for. Closing twice is fine.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	s.calls.Wait()
	// From here on nobody calls ristretto, so handBack may take mu although
	// ristretto holds a lock of its own while it empties itself.
	s.bytes.Close()
	s.derived.Close()

	s.mu.Lock()
	defer s.unlock()
	clear(s.agents)
	s.graves = newGraveyard(0, 0)
	s.size, s.entries = 0, 0
	return nil
}
