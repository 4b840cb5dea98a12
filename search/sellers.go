package search

import (
	"math/bits"
	"unicode/utf8"
)

// Myers' bit-parallel edit distance. One column of the distance table of a
// pattern (down) and a text (across) is kept as the differences between
// its neighbours, in two bit vectors; a step takes the next rune of the
// text and costs some 15 operations for each 64 runes of pattern.
//
// G. Myers, A fast bit-vector algorithm for approximate string matching,
// J. ACM 46(3), 1999; the carry between blocks follows H. Hyyrö, 2003.

// A matcher compares one pattern, folded runes, with texts.
type matcher struct {
	size   int // runes of the pattern, at least 1
	blocks int
	last   uint64              // bit of the pattern's last rune in its block
	ascii  [][128]uint64       // per block: where an ASCII rune stands
	bytes  [256]uint64         // the first block's ascii, by unfolded byte
	other  map[rune]*[4]uint64 // the same for other runes
}

// A column is the state of a comparison.
type column struct {
	up, down [4]uint64 // differences to the row above: +1, -1
	dist     int       // of the whole pattern
}

func newMatcher(pattern []rune) *matcher {
	m := &matcher{
		size:   len(pattern),
		blocks: (len(pattern) + 63) / 64,
		last:   1 << ((len(pattern) - 1) % 64),
		other:  make(map[rune]*[4]uint64),
	}
	m.ascii = make([][128]uint64, m.blocks)
	for i, r := range pattern {
		block, bit := i/64, uint64(1)<<(i%64)
		if r < utf8.RuneSelf {
			m.ascii[block][r] |= bit
			continue
		}
		if m.other[r] == nil {
			m.other[r] = new([4]uint64)
		}
		m.other[r][block] |= bit
	}
	for b, folded := range foldASCII {
		m.bytes[b] = m.ascii[0][folded]
	}
	return m
}

// reset makes c the column before any text: every rune of the pattern is
// missing.
func (m *matcher) reset(c *column) {
	*c = column{dist: m.size}
	for i := range m.blocks {
		c.up[i] = ^uint64(0)
	}
}

// step takes the next rune, folded. With anchored, dist is the distance to
// the text since reset; without, to the part of it that ends here and is
// nearest (Sellers).
func (m *matcher) step(c *column, r rune, anchored bool) {
	carry := 0 // what the row above the block changed by
	if anchored {
		carry = 1
	}
	var other *[4]uint64
	if r >= utf8.RuneSelf {
		other = m.other[r]
	}
	for i := range m.blocks {
		var eq uint64
		if r < utf8.RuneSelf {
			eq = m.ascii[i][r]
		} else if other != nil {
			eq = other[i]
		}
		top := uint64(1) << 63
		if i == m.blocks-1 {
			top = m.last
		}
		up, down := c.up[i], c.down[i]
		vert := eq | down
		if carry < 0 {
			eq |= 1
		}
		diag := (((eq & up) + up) ^ up) | eq
		plus := down | ^(diag | up)
		minus := up & diag
		out := 0
		if plus&top != 0 {
			out = 1
		} else if minus&top != 0 {
			out = -1
		}
		plus <<= 1
		minus <<= 1
		if carry > 0 {
			plus |= 1
		} else if carry < 0 {
			minus |= 1
		}
		c.up[i] = minus | ^(vert | plus)
		c.down[i] = plus & vert
		carry = out
	}
	c.dist += carry
}

// next steps unanchored from text[pos:], folding as it goes, to the first
// rune that leaves dist at most most, and returns where that rune ends. It
// returns -1 if there is none before end.
//
// In invalid UTF-8 dist may come out too small, never too large.
func (m *matcher) next(c *column, text []byte, pos, end, most int) int {
	if m.blocks == 1 && len(m.other) == 0 {
		return m.nextASCII(c, text, pos, end, most)
	}
	for pos < end {
		r, size := utf8.DecodeRune(text[pos:])
		pos += size
		m.step(c, foldRune(r), false)
		if c.dist <= most {
			return pos
		}
	}
	return -1
}

// nextASCII is next for an ASCII pattern of one block. It keeps the column
// in registers and decodes nothing: of a rune beyond ASCII the first byte
// matches nothing, and the others are skipped.
func (m *matcher) nextASCII(c *column, text []byte, pos, end, most int) int {
	up, down, dist := c.up[0], c.down[0], c.dist
	shift := bits.TrailingZeros64(m.last) & 63
	found := -1
	for ; pos < end; pos++ {
		b := text[pos]
		if b&0xc0 == 0x80 {
			continue
		}
		eq := m.bytes[b]
		vert := eq | down
		diag := (((eq & up) + up) ^ up) | eq
		plus := down | ^(diag | up)
		minus := up & diag
		dist += int(plus>>shift&1) - int(minus>>shift&1)
		plus <<= 1
		up = minus<<1 | ^(vert | plus)
		down = plus & vert
		if dist <= most {
			_, size := utf8.DecodeRune(text[pos:])
			found = pos + size
			break
		}
	}
	c.up[0], c.down[0], c.dist = up, down, dist
	return found
}
