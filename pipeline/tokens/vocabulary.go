package tokens

import (
	_ "embed" // the vocabulary
	"hash/maphash"
	"sync"
)

// The tokens of o200k_base by rank, each after a byte that is its length. See
// o200k_base.md.
//
//go:embed o200k_base.bin
var ranked string

// maxTokenBytes is the longest token in the vocabulary: 128 spaces.
const maxTokenBytes = 128

// A table finds tokens by their bytes: open addressing with linear probing
// (Knuth, The Art of Computer Programming 3, 6.4, Algorithm L), 2 MB for 199,998 of
// them. A slot holds where in ranked a token is, which orders tokens as their ranks
// do, and bits of its hash, so that hardly any other is looked at; 0 is free.
type table struct {
	seed  maphash.Seed
	slots [1 << tableBits]uint32
	pairs [1 << 16]uint32 // those of two bytes by both; 0 is none
}

const (
	tableBits = 19
	placeBits = 21 // ranked is shorter than 2 MiB
	placeMask = 1<<placeBits - 1
)

// none is what no token's place is, and above all of them.
const none = ^uint32(0)

// vocabulary is loaded at first use: 10 ms.
var vocabulary = sync.OnceValue(func() *table {
	t := &table{seed: maphash.MakeSeed()}
	for i := 0; i < len(ranked); {
		n := int(ranked[i])
		slot, tag := t.hash([]byte(ranked[i+1 : i+1+n]))
		for t.slots[slot] != 0 {
			slot = (slot + 1) % (1 << tableBits)
		}
		t.slots[slot] = tag | uint32(i+1)
		if n == 2 {
			t.pairs[pair(ranked[i+1], ranked[i+2])] = uint32(i + 1)
		}
		i += 1 + n
	}
	return t
})

func pair(a, b byte) int { return int(a)<<8 | int(b) }

// hash returns the slot at which to begin to look for token, and the bits that are
// kept with its place.
func (t *table) hash(token []byte) (slot uint64, tag uint32) {
	h := maphash.Bytes(t.seed, token)
	return h % (1 << tableBits), uint32(h>>32) &^ placeMask
}

// rank returns a number that is smaller the earlier a token was learned, or none if
// b is no token.
func (t *table) rank(b []byte) uint32 {
	switch {
	case len(b) > maxTokenBytes:
		return none
	case len(b) == 2:
		if at := t.pairs[pair(b[0], b[1])]; at > 0 {
			return at
		}
		return none
	}
	slot, tag := t.hash(b)
	for {
		s := t.slots[slot]
		if s == 0 {
			return none
		}
		if s&^placeMask == tag {
			at := int(s & placeMask)
			if int(ranked[at-1]) == len(b) && ranked[at:at+len(b)] == string(b) {
				return s & placeMask
			}
		}
		slot = (slot + 1) % (1 << tableBits)
	}
}
