// Package cache keeps tool results too large for an agent's context.
//
//	tools/call → middleware → Store.Put → cache_id → proxy_filter → Store.Get
//
//	Store   agent → id → result, size, last read, origin
//	  ├─ artefacts   ristretto; may drop anything, and it is built again
//	  └─ index       who keeps what, and what an expired or evicted id was
//	       ├─ local    in memory; behind it a folder, if wanted: what the next process answers from
//	       └─ shared   in a Redis or Valkey, for several replicas
//
// Each entry belongs to one agent; no call of an agent reads across agents. A [Desk] is for
// the operator, who sees what all of them keep. An id that
// was handed out always answers: with its bytes, or with a [GoneError].
// Sizes are bytes: of the result as received, and of its [Origin].
//
// The results are in a map of ours, or in keys of ours, within quotas of ours. ristretto
// refuses and drops what it likes, which is right only for what can be built again. What a
// folder has is what the map has, and there is no other quota for it.
package cache

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"rlmproxy/fleet"
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
	// TTL counts from the last read. Zero means an hour.
	TTL time.Duration
	// DerivedBytes bounds what is kept of artefacts, by the sizes that their
	// builders state. Zero means 256 MiB.
	DerivedBytes int64
	// Key makes ids unguessable. Stores with the same key give the same ids
	// and recognise each other's. It has at least 16 bytes; nil means that of
	// Dir, or a random key for this store. With Fleet it must be nil: the replicas have keys.
	Key []byte
	// Terms say what is taken out of results before they are kept; see [Store.SetTerms].
	Terms string
	// Dir keeps entries in a folder too. Its zero value does not.
	Dir Dir
	// Fleet keeps entries in a store that replicas share. The quotas are those of all
	// replicas together, and so should be the same everywhere. In this process, copies of
	// what was put or read take up to MaxBytes, with what is kept while the store is away.
	// Nil does not; Dir must be its zero value with it.
	Fleet *fleet.Store
	// Logger receives evictions at debug level. Nil discards them.
	Logger *slog.Logger

	tombstones int              // of one agent
	now        func() time.Time // tests have clocks of their own,
	clocked    bool             // which a shared store is given then
}

// A Store keeps results for agents. It is safe for concurrent use.
type Store struct {
	opts    Options         // fixed at creation, defaults filled in
	keys    func() [][]byte // that ids are made with: the first for new ones
	index   index
	derived *artefacts
	counts  *counters

	closing sync.Once
	stop    chan struct{}  // closed by Close
	sweeper sync.WaitGroup // the goroutine of sweep
}

// ErrClosed is returned by calls on a closed [Store].
var ErrClosed = errors.New("cache: closed")

// New returns an empty store. Close ends its goroutines.
func New(opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	var d *dir
	if opts.Dir.Path != "" {
		if d, err = openDir(&opts); err != nil {
			return nil, fmt.Errorf("cache: %w", err)
		}
	}
	if opts.Key == nil {
		opts.Key = make([]byte, 32)
		rand.Read(opts.Key) // never fails: see crypto/rand
	}
	s := &Store{opts: opts, counts: &counters{}, stop: make(chan struct{})}
	keys := [][]byte{opts.Key}
	s.keys = func() [][]byte { return keys }
	if s.derived, err = newArtefacts(&opts); err != nil {
		return nil, fmt.Errorf("cache: derived: %w", err)
	}
	if opts.Fleet != nil {
		s.keys = func() [][]byte { return opts.Fleet.Keys("cache ids") }
		if s.index, err = newShared(&s.opts, s.keys, s.derived, s.counts); err != nil {
			return nil, fmt.Errorf("cache: %w", err)
		}
	} else {
		l := newLocal(&s.opts, s.derived, s.counts)
		if d != nil {
			l.restore(d)
		}
		s.index = l
	}
	s.sweeper.Go(s.sweep)
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
	if o.Fleet != nil && (o.Key != nil || o.Dir.Path != "") {
		return o, errors.New("cache: with Fleet there is neither Key nor Dir")
	}
	o.MaxEntriesPerAgent = cmp.Or(o.MaxEntriesPerAgent, 20)
	o.MaxBytesPerAgent = cmp.Or(o.MaxBytesPerAgent, 100<<20)
	o.MaxBytes = cmp.Or(o.MaxBytes, 512<<20)
	o.MaxAgents = cmp.Or(o.MaxAgents, 1000)
	o.MaxTombstones = cmp.Or(o.MaxTombstones, 10_000)
	o.TTL = cmp.Or(o.TTL, time.Hour)
	o.DerivedBytes = cmp.Or(o.DerivedBytes, 256<<20)
	o.tombstones = cmp.Or(o.tombstones, 10*o.MaxEntriesPerAgent)
	if o.clocked = o.now != nil; !o.clocked {
		o.now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Close drops everything but what is in the folder, and returns when the store's goroutines have ended.
// Artefacts still being built are not waited for. Closing twice is fine.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.index.close()
		close(s.stop)
		s.sweeper.Wait()
		s.derived.close()
	})
	return nil
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
			s.index.sweep()
		}
	}
}
