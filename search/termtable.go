package search

import "hash/maphash"

// A termTable maps byte strings to the numbers 0, 1, 2 … in the order in which
// they were added. It keeps them one after another in one slice, so that a
// hundred thousand terms are three allocations and nothing for the garbage
// collector to follow. The zero termTable is empty.
type termTable struct {
	seed  maphash.Seed
	slots []uint32 // open addressing: number+1, or 0; a power of two
	hash  []uint32 // of each term
	ends  []uint32 // where each ends in keys
	keys  []byte
}

// len is how many terms there are.
func (t *termTable) len() int { return len(t.ends) }

// term returns term n.
func (t *termTable) term(n uint32) []byte {
	start := uint32(0)
	if n > 0 {
		start = t.ends[n-1]
	}
	return t.keys[start:t.ends[n]]
}

// find returns the number of key.
func (t *termTable) find(key []byte) (n uint32, ok bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	n, _, ok = t.probe(key)
	return n, ok
}

// probe returns the number of key, or its hash if it is not there.
func (t *termTable) probe(key []byte) (n, hash uint32, ok bool) {
	hash = uint32(maphash.Bytes(t.seed, key))
	mask := uint32(len(t.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		s := t.slots[at]
		if s == 0 {
			return 0, hash, false
		}
		if n = s - 1; t.hash[n] == hash && string(t.term(n)) == string(key) {
			return n, hash, true
		}
	}
}

// add returns the number of key, a new one if it is not there yet.
func (t *termTable) add(key []byte) (n uint32, added bool) {
	// Three quarters full is where probes begin to get long.
	if 4*len(t.ends) >= 3*len(t.slots) {
		t.grow()
	}
	n, hash, ok := t.probe(key)
	if ok {
		return n, false
	}
	n = uint32(len(t.ends))
	t.keys = append(t.keys, key...)
	t.ends = append(t.ends, uint32(len(t.keys)))
	t.hash = append(t.hash, hash)
	t.place(n)
	return n, true
}

func (t *termTable) grow() {
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
	}
	t.slots = make([]uint32, max(1024, 2*len(t.slots)))
	for n := range t.ends {
		t.place(uint32(n))
	}
}

func (t *termTable) place(n uint32) {
	mask := uint32(len(t.slots) - 1)
	at := t.hash[n] & mask
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = n + 1
}

// sizeBytes is the memory that the table holds.
func (t *termTable) sizeBytes() int {
	return 4*(cap(t.slots)+cap(t.hash)+cap(t.ends)) + cap(t.keys)
}
