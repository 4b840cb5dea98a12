package search

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
)

const (
	// maxMemo bounds the chunks whose tokens are remembered while an index is
	// built. Text repeats its words: 10 MB of English has 60,000.
	maxMemo = 1 << 17
	// memoProbes bounds the slots that are looked at for a chunk. One that finds
	// no place is not remembered, so that a text of chunks with one hash is read
	// at the speed of a text of which nothing comes again.
	memoProbes = 8
)

// A memo remembers the tokens of chunks of one text of at most maxTokenBytes.
type memo struct {
	text   []byte
	slots  []memoSlot // a power of two
	len    int
	tokens []uint32 // of the chunks that have more than one
	seed   maphash.Seed
	keys   [2]uint64 // of the hash of short chunks
}

// A memoSlot is a chunk and its tokens.
type memoSlot struct {
	memoKey
	count uint16 // of tokens; 0 in an empty slot
	first uint32 // the token; of several, where they begin in memo.tokens
}

// A memoKey is a chunk: itself, if it has up to 16 bytes; else its hash and where
// it began first.
type memoKey struct {
	a, b uint64
	size uint16
}

func newMemo(text []byte) memo {
	return memo{
		text:  text,
		slots: make([]memoSlot, 1024),
		seed:  maphash.MakeSeed(),
		keys:  [2]uint64{rand.Uint64(), rand.Uint64()},
	}
}

// key returns the key of the chunk text[start:end].
func (m *memo) key(start, end int) memoKey {
	size := end - start
	k := memoKey{size: uint16(size)}
	switch {
	case size > 16:
		k.a, k.b = maphash.Bytes(m.seed, m.text[start:end]), uint64(start)
	case start+16 <= len(m.text):
		k.a, k.b = binary.LittleEndian.Uint64(m.text[start:]), 0
		if size <= 8 {
			k.a &= 1<<(8*size) - 1
		} else {
			k.b = binary.LittleEndian.Uint64(m.text[start+8:]) & (1<<(8*(size-8)) - 1)
		}
	default:
		var b [16]byte
		copy(b[:], m.text[start:end])
		k.a, k.b = binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
	}
	return k
}

// home is the first slot to look at for k. Who does not know m.keys cannot tell
// which chunks share one.
func (m *memo) home(k *memoKey) uint64 {
	b := k.b
	if k.size > 16 {
		b = 0
	}
	high, low := bits.Mul64(k.a^m.keys[0], b^m.keys[1])
	return (high ^ low) * 0x9e3779b97f4a7c15 >> 32
}

// find returns the slot of k, or nil.
func (m *memo) find(k *memoKey) *memoSlot {
	mask := uint64(len(m.slots) - 1)
	for i, at := 0, m.home(k); i < memoProbes; i, at = i+1, at+1 {
		s := &m.slots[at&mask]
		if s.count == 0 {
			return nil
		}
		if s.a == k.a && s.size == k.size && (s.b == k.b || k.size > 16 && m.equal(s, k)) {
			return s
		}
	}
	return nil
}

// equal compares two long chunks.
func (m *memo) equal(s *memoSlot, k *memoKey) bool {
	return string(m.text[s.b:s.b+uint64(s.size)]) == string(m.text[k.b:k.b+uint64(k.size)])
}

// put remembers the tokens of k, which find did not find.
func (m *memo) put(k memoKey, tokens []uint32) {
	if m.len == maxMemo || len(tokens) == 0 {
		return
	}
	if 2*m.len >= len(m.slots) {
		old := m.slots
		m.slots, m.len = make([]memoSlot, 2*len(old)), 0
		for _, s := range old {
			if s.count > 0 {
				m.place(s)
			}
		}
	}
	s := memoSlot{memoKey: k, first: tokens[0], count: uint16(len(tokens))}
	if len(tokens) > 1 {
		s.first = uint32(len(m.tokens))
		if m.place(s) {
			m.tokens = append(m.tokens, tokens...)
		}
		return
	}
	m.place(s)
}

// place puts s where it belongs, if there is room.
func (m *memo) place(s memoSlot) bool {
	mask := uint64(len(m.slots) - 1)
	for i, at := 0, m.home(&s.memoKey); i < memoProbes; i, at = i+1, at+1 {
		if to := &m.slots[at&mask]; to.count == 0 {
			*to = s
			m.len++
			return true
		}
	}
	return false
}
