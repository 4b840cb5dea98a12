package search

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// A termTable maps byte strings to the numbers 0, 1, 2 … in the order in which
// they were added. It keeps them one after another in one slice, so that a
// hundred thousand terms are three allocations and nothing for the garbage
// collector to follow. The zero termTable is empty.
type termTable struct {
	seed maphash.Seed
	// Open addressing; a power of two. A slot is the term's hash in the upper
	// half, number+1 in the lower; or 0.
	slots []uint64
	ends  []uint32 // where each term ends in keys
	keys  []byte
}

// len is how many terms there are.
func (t *termTable) len() int { return len(t.ends) }

// add returns the number of key, a new one if it is not there yet.
func (t *termTable) add(key []byte) (n uint32, added bool) {
	if len(t.ends) == cap(t.ends) {
		t.grow(2 * len(t.slots))
	}
	hash := uint32(maphash.Bytes(t.seed, key))
	mask := uint32(len(t.slots) - 1)
	at := hash & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		s := t.slots[at]
		if uint32(s>>32) != hash {
			continue
		}
		if n := uint32(s) - 1; string(term(t.keys, t.ends, n)) == string(key) {
			return n, false
		}
	}
	n = uint32(len(t.ends))
	t.slots[at] = uint64(hash)<<32 | uint64(n+1)
	if cap(t.keys)-len(t.keys) < len(key) {
		// append would grow by a quarter, and copy four times as much.
		t.keys = slices.Grow(t.keys, len(t.keys)+len(key))
	}
	t.keys = append(t.keys, key...)
	t.ends = append(t.ends, uint32(len(t.keys)))
	return n, true
}

// grow makes the table one of size slots or more.
func (t *termTable) grow(size int) {
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
	}
	size = 1 << bits.Len(uint(max(size, 1024)-1))
	old := t.slots
	t.slots = make([]uint64, size)
	mask := uint32(size - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		at := uint32(s>>32) & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = s
	}
	// Three quarters full is where probes begin to get long.
	ends := make([]uint32, len(t.ends), size/4*3)
	copy(ends, t.ends)
	t.ends = ends
}

// term returns term n of keys that end at ends.
func term(keys []byte, ends []uint32, n uint32) []byte {
	start := uint32(0)
	if n > 0 {
		start = ends[n-1]
	}
	return keys[start:ends[n]]
}

// A termSet is a complete termTable, for reading: without hashes, which take
// memory and spare a lookup a comparison or two.
type termSet struct {
	seed  maphash.Seed
	slots []uint32 // number+1, or 0
	ends  []uint32
	keys  []byte
}

// complete returns the terms. The table must not be used any more.
func (t *termTable) complete() termSet {
	s := termSet{seed: t.seed, slots: make([]uint32, len(t.slots)), ends: clip(t.ends), keys: clip(t.keys)}
	for i, slot := range t.slots {
		s.slots[i] = uint32(slot)
	}
	return s
}

// clip returns s without what appending left unused, which is up to a half.
func clip[T any](s []T) []T {
	out := make([]T, len(s))
	copy(out, s)
	return out
}

// find returns the number of key.
func (s *termSet) find(key []byte) (n uint32, ok bool) {
	if len(s.slots) == 0 {
		return 0, false
	}
	mask := uint32(len(s.slots) - 1)
	for at := uint32(maphash.Bytes(s.seed, key)) & mask; s.slots[at] != 0; at = (at + 1) & mask {
		if n = s.slots[at] - 1; string(term(s.keys, s.ends, n)) == string(key) {
			return n, true
		}
	}
	return 0, false
}

// sizeBytes is the memory that the terms hold.
func (s *termSet) sizeBytes() int {
	return 4*(cap(s.slots)+cap(s.ends)) + cap(s.keys)
}
