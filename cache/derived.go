package cache

import (
	"encoding/binary"
	"errors"
	"slices"
)

// maxDerived bounds the artefacts kept of one entry, because their keys may
// come from agents. An entry has one tree, one line table and a few indexes.
const maxDerived = 32

// errUnfinished is what those get who waited for a build that panicked.
var errUnfinished = errors.New("cache: artefact: another call's build did not return")

// A building is an artefact that is being built.
type building struct {
	done  chan struct{} // closed when value and err are set
	value any
	err   error
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
// For an entry that is gone, the error is that of [Store.Get].
func (s *Store) Derived(agent string, id ID, key string, build func() (value any, sizeBytes int64, err error)) (any, error) {
	return s.artefact(s.find, keyOf(agent), id, key, build)
}

// artefact is Derived of the record that find finds.
func (s *Store) artefact(find func(agentKey, ID) (*record, error), agent agentKey, id ID, key string, build func() (value any, sizeBytes int64, err error)) (any, error) {
	rec, b, err := s.startBuild(find, agent, id, key)
	if err != nil {
		return nil, err
	}
	if rec == nil { // kept, or another call builds
		<-b.done
		return b.value, b.err
	}
	var size int64
	b.err = errUnfinished
	defer func() { s.endBuild(rec, key, b, size) }() // also when build panics or ends its goroutine
	b.value, size, b.err = build()
	if b.err != nil {
		b.value = nil
	}
	return b.value, b.err
}

// startBuild finds an artefact that is kept or being built. If there is none, rec is
// not nil, and the caller must build and call endBuild.
func (s *Store) startBuild(find func(agentKey, ID) (*record, error), agent agentKey, id ID, key string) (rec *record, b *building, err error) {
	s.mu.Lock()
	defer s.unlock()
	rec, err = find(agent, id)
	if err != nil {
		return nil, nil, err
	}
	name := derivedName(rec, key)
	b = &building{done: make(chan struct{})}
	if value, ok := s.derived.Get(name); ok {
		b.value = value
		close(b.done)
		return nil, b, nil
	}
	if other := s.builds[name]; other != nil {
		return nil, other, nil
	}
	s.builds[name] = b
	return rec, b, nil
}

// endBuild tells those who wait, and keeps what was built unless its entry went.
func (s *Store) endBuild(rec *record, key string, b *building, size int64) {
	close(b.done)
	s.mu.Lock()
	defer s.unlock()
	name := derivedName(rec, key)
	delete(s.builds, name)
	if b.err != nil || rec.removed || s.closed {
		return
	}
	if i := slices.Index(rec.derived, name); i >= 0 {
		rec.derived = slices.Delete(rec.derived, i, i+1) // ristretto had dropped it
	}
	if len(rec.derived) == maxDerived {
		s.derived.Del(rec.derived[0])
		rec.derived = slices.Delete(rec.derived, 0, 1)
	}
	rec.derived = append(rec.derived, name)
	s.derived.Set(name, b.value, max(size, 1))
	s.derived.Wait() // until then, ristretto would not find it
}

// derivedName is unique for all time, because seq is.
func derivedName(rec *record, key string) string {
	return string(binary.BigEndian.AppendUint64(nil, rec.seq)) + key
}
