package project

import "bytes"

// A copier writes parts of a source, in the order of the source. What stands
// side by side in both, as fields that are kept together do, is copied at once.
type copier struct {
	src      []byte
	from, to int    // of src: what comes next but is not in out yet
	out      []byte // the document so far

	// The output grows by what the document has brought so far.
	whole int // length of the document
	at    int // where in it src stands; src is the document itself if it is below 0
}

func newCopier(src []byte) copier { return copier{src: src, whole: len(src), at: -1} }

// put writes src[i:j].
func (c *copier) put(i, j int) {
	if i != c.to {
		c.flush()
		c.from = i
	}
	c.to = j
}

// putByte writes b, as a part of the source if it comes next there.
func (c *copier) putByte(b byte) {
	if c.to < len(c.src) && c.src[c.to] == b {
		c.to++
		return
	}
	c.flush()
	c.out = append(c.out, b)
}

// size is the length of what was written.
func (c *copier) size() int { return len(c.out) + c.to - c.from }

// flush makes out complete and leaves room for a byte.
func (c *copier) flush() {
	n := c.to - c.from
	if cap(c.out)-len(c.out) <= n {
		c.grow(n + 1)
	}
	c.out = append(c.out, c.src[c.from:c.to]...)
	c.from = c.to
}

// grow makes room for n bytes. The first time it takes a sixteenth of the
// document, then as much as the rest should need, and 1/16 more: together less
// than an eighth more than is used, if what is kept is spread evenly.
func (c *copier) grow(n int) {
	pos := c.to
	if c.at >= 0 {
		pos = c.at
	}
	need := len(c.out) + n
	most := need + c.whole - pos // nothing becomes longer
	size := c.whole/16 + 512
	if c.out != nil {
		size = max(need+need/4, int(float64(need)*float64(c.whole)/float64(pos+1)*17/16))
	}
	out := make([]byte, len(c.out), max(need, min(size, most)))
	copy(out, c.out)
	c.out = out
}

// cut takes back what was written since out was complete and had n bytes.
func (c *copier) cut(n int) {
	c.from = c.to
	c.out = c.out[:n]
}

// A source is what a copier returns to.
type source struct {
	src []byte
	at  int
}

// open goes on in other bytes, which stand at i.
func (c *copier) open(src []byte, i int) source {
	c.flush()
	back := source{c.src, c.at}
	if c.at < 0 {
		c.at = i
	}
	c.src, c.from, c.to = src, 0, 0
	return back
}

func (c *copier) close(back source) {
	c.flush()
	c.src, c.at = back.src, back.at
	c.from, c.to = 0, 0
}

// bytes is the output, in little more memory than it needs.
func (c *copier) bytes() []byte {
	c.flush()
	if spare := cap(c.out) - len(c.out); spare > len(c.out)/4+64 {
		return bytes.Clone(c.out)
	}
	return c.out
}
