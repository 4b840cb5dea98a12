package cache

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/dgraph-io/ristretto/v2"
)

// maxDerived bounds the artefacts kept of one entry, because their keys may
// come from agents. An entry has one tree, one line table and a few indexes.
const maxDerived = 32

// errUnfinished is what those get who waited for a build that panicked.
var errUnfinished = errors.New("cache: artefact: another call's build did not return")

// artefacts are what was made of entries. ristretto may drop any of them.
type artefacts struct {
	mu     sync.Mutex // guards the fields below, and what is called on kept
	kept   *ristretto.Cache[string, any]
	closed bool
	builds map[string]*building // by name
	seq    uint64               // of the newest anchor
}

// An anchor is what the artefacts of an entry hang on: they go with it. It is guarded by the
// mu of its artefacts; the zero value is ready to use.
type anchor struct {
	seq   uint64   // unlike that of any other; zero: nothing was made yet
	names []string // that ristretto was given, oldest first
	gone  bool
}

// A building is an artefact that is being built.
type building struct {
	done  chan struct{} // closed when value and err are set
	value any
	err   error
}

func newArtefacts(opts *Options) (*artefacts, error) {
	kept, err := ristretto.NewCache(&ristretto.Config[string, any]{
		// ristretto advises ten counters for each item it may hold; a
		// counter takes three bytes.
		NumCounters:        min(10*int64(opts.MaxAgents)*int64(opts.MaxEntriesPerAgent), 1<<20),
		MaxCost:            opts.DerivedBytes,
		BufferItems:        64,
		IgnoreInternalCost: true,
	})
	return &artefacts{kept: kept, builds: make(map[string]*building)}, err
}

func (d *artefacts) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.kept.Close()
}

// Derived returns an artefact of an entry, such as its parsed tree: the one
// kept under key, or a new one from build. It counts as a read of the entry.
//
// Of concurrent calls for the same entry and key, one builds and the others
// wait for its result, error or not; errors are not kept. build states the
// artefact's size, which decides how long it may stay. It may call the store,
// but not for the same entry and key. A panic in build is the caller's; those
// who waited get an error. Artefacts are shared and must not be modified.
//
// For an entry that is gone, the error is that of [Store.Get]. With [Options.Fleet], the entry
// is not asked for again within a second, and while the store is away an artefact is built for
// any id that the agent was given.
func (s *Store) Derived(agent string, id ID, key string, build func() (value any, sizeBytes int64, err error)) (any, error) {
	return s.artefact(keyOf(agent), id, true, key, build)
}

// artefact is Derived, which counts as a read or not.
func (s *Store) artefact(agent agentKey, id ID, read bool, key string, build func() (value any, sizeBytes int64, err error)) (any, error) {
	if !s.issued(agent, id) {
		return nil, ErrUnknown
	}
	on, err := s.index.anchor(agent, id, read)
	if err != nil {
		return nil, err
	}
	return s.derived.of(on, key, build)
}

// of returns the artefact of an anchor that is kept under key, or has it built. Without an
// anchor it is built, and not kept.
func (d *artefacts) of(on *anchor, key string, build func() (value any, sizeBytes int64, err error)) (any, error) {
	if on == nil {
		value, _, err := build()
		return value, err
	}
	b, mine, err := d.start(on, key)
	if err != nil {
		return nil, err
	}
	if !mine {
		<-b.done
		return b.value, b.err
	}
	var size int64
	b.err = errUnfinished
	defer func() { d.end(on, key, b, size) }() // also when build panics or ends its goroutine
	b.value, size, b.err = build()
	if b.err != nil {
		b.value = nil
	}
	return b.value, b.err
}

// start finds an artefact that is kept or being built. If there is none it is the caller's,
// who must build it and call end.
func (d *artefacts) start(on *anchor, key string) (b *building, mine bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, false, ErrClosed
	}
	if on.seq == 0 {
		d.seq++
		on.seq = d.seq
	}
	name := on.name(key)
	b = &building{done: make(chan struct{})}
	if value, ok := d.kept.Get(name); ok {
		b.value = value
		close(b.done)
		return b, false, nil
	}
	if other := d.builds[name]; other != nil {
		return other, false, nil
	}
	d.builds[name] = b
	return b, true, nil
}

// end tells those who wait, and keeps what was built unless its entry went.
func (d *artefacts) end(on *anchor, key string, b *building, size int64) {
	close(b.done)
	d.mu.Lock()
	defer d.mu.Unlock()
	name := on.name(key)
	delete(d.builds, name)
	if b.err != nil || on.gone || d.closed {
		return
	}
	if i := slices.Index(on.names, name); i >= 0 {
		on.names = slices.Delete(on.names, i, i+1) // ristretto had dropped it
	}
	if len(on.names) == maxDerived {
		d.kept.Del(on.names[0])
		on.names = slices.Delete(on.names, 0, 1)
	}
	on.names = append(on.names, name)
	d.kept.Set(name, b.value, max(size, 1))
	d.kept.Wait() // until then, ristretto would not find it
}

// drop lets go what was made of an entry, which has gone.
func (d *artefacts) drop(on *anchor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	on.gone = true
	if d.closed {
		return
	}
	for _, name := range on.names {
		d.kept.Del(name)
	}
	on.names = nil
}

// name is unique for all time, because seq is.
func (on *anchor) name(key string) string {
	return string(binary.BigEndian.AppendUint64(nil, on.seq)) + key
}
