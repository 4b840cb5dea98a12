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

// An artefact is a value in the derived cache. It carries its name because
// ristretto looks up by hashes.
type artefact struct {
	name  string
	value any
}

// A flight is a build in progress.
type flight struct {
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
	rec, f, value, err := s.board(keyOf(agent), id, key)
	switch {
	case err != nil:
		return nil, err
	case f == nil:
		return value, nil
	case rec == nil:
		<-f.done
		return f.value, f.err
	}

	name := artefactName(rec, key)
	f.err = errUnfinished
	size := int64(-1) // not to be kept
	defer func() {    // also when build panics or ends its goroutine
		s.land(rec, name, f, size)
	}()
	value, size, err = build()
	f.value, f.err = value, err
	if err != nil {
		size = -1
		return nil, err
	}
	size = max(size, 1)
	return value, nil
}

// board finds an artefact, or the flight that builds it, or starts one: then
// rec is not nil, and the caller must build and land.
func (s *Store) board(agent agentKey, id ID, key string) (rec *record, f *flight, value any, err error) {
	s.mu.Lock()
	defer s.unlock()
	rec, err = s.find(agent, id)
	if err != nil {
		return nil, nil, nil, err
	}
	name := artefactName(rec, key)
	if a, ok := s.derived.Get(name); ok && a.name == name {
		return nil, nil, a.value, nil
	}
	if f := s.flights[name]; f != nil {
		return nil, f, nil, nil
	}
	f = &flight{done: make(chan struct{})}
	s.flights[name] = f
	return rec, f, nil, nil
}

// land ends a flight. The artefact is offered before the flight is taken
// from the board, so that nobody finds neither.
func (s *Store) land(rec *record, name string, f *flight, size int64) {
	defer close(f.done)
	s.mu.Lock()
	keep := size >= 0 && !rec.gone && !s.closed
	dropped := ""
	if keep {
		s.calls.Add(1)
		defer s.calls.Done()
		if i := slices.Index(rec.derived, name); i >= 0 {
			rec.derived = slices.Delete(rec.derived, i, i+1) // ristretto had dropped it
		}
		if len(rec.derived) >= maxDerived {
			dropped = rec.derived[0]
			rec.derived = slices.Delete(rec.derived, 0, 1)
		}
		rec.derived = append(rec.derived, name)
	}
	s.unlock()
	if keep {
		if dropped != "" {
			s.derived.Del(dropped)
		}
		s.derived.Set(name, &artefact{name, f.value}, size)
		s.derived.Wait()
	}
	s.mu.Lock()
	delete(s.flights, name)
	gone := rec.gone
	s.unlock()
	if keep && gone {
		s.derived.Del(name) // the removal may have come before the offer
	}
}

// artefactName is unique for all time, because seq is.
func artefactName(rec *record, key string) string {
	return string(binary.BigEndian.AppendUint64(nil, rec.seq)) + key
}
