package tokens

// Byte-pair encoding (Sennrich, Haddow and Birch, Neural Machine Translation of Rare
// Words with Subword Units, 2016): a piece is its bytes to begin with, and of the
// neighbours that together are a token those are merged whose token has the lowest
// rank, the leftmost of equals, until none are left.

// scanBytes is up to where it is faster to look through all parts for the next merge
// than to keep them in order.
const scanBytes = 100

// merged returns how many tokens a piece has, which must not be empty.
func (t *table) merged(piece []byte) int {
	switch {
	case t.rank(piece) != none:
		return 1
	case len(piece) <= scanBytes:
		return t.scan(piece)
	}
	return t.order(piece)
}

// scan is merged in quadratic time, without memory.
func (t *table) scan(piece []byte) int {
	// A part, and the rank that it and the next one have together.
	type part struct {
		start int
		rank  uint32
	}
	var room [scanBytes + 1]part
	parts := room[:len(piece)+1] // the last one is the end
	for i := range parts {
		parts[i] = part{i, none}
	}
	// with returns the rank of parts i to j-1.
	with := func(i, j int) uint32 {
		if j >= len(parts) {
			return none
		}
		return t.rank(piece[parts[i].start:parts[j].start])
	}
	for i := range parts {
		parts[i].rank = with(i, i+2)
	}
	for {
		best := 0
		for i := range parts {
			if parts[i].rank < parts[best].rank {
				best = i
			}
		}
		if parts[best].rank == none {
			return len(parts) - 1
		}
		parts = append(parts[:best+1], parts[best+2:]...)
		parts[best].rank = with(best, best+2)
		if best > 0 {
			parts[best-1].rank = with(best-1, best+1)
		}
	}
}

// A link is a part in order: the end of the list is the last one, which is empty.
type link struct {
	prev, next int32
	rank       uint32 // of this part and the next together; none also if it is no part
}

// order is merged in time n log n, with 20 bytes of memory for each.
func (t *table) order(piece []byte) int {
	links := make([]link, len(piece)+1)
	end := int32(len(piece))
	with := func(i int32) uint32 {
		if next := links[i].next; next < end {
			return t.rank(piece[i:links[next].next])
		}
		return none
	}
	for i := range links {
		links[i] = link{int32(i) - 1, min(int32(i)+1, end), none}
	}
	queue := make(candidates, 0, len(piece))
	push := func(i int32) {
		if links[i].rank = with(i); links[i].rank != none {
			queue.push(candidate{links[i].rank, i})
		}
	}
	for i := range end {
		push(i)
	}
	n := len(piece)
	for len(queue) > 0 {
		c := queue.pop()
		if links[c.at].rank != c.rank {
			continue // it has been merged otherwise
		}
		gone := links[c.at].next
		next := links[gone].next
		links[gone].rank = none
		links[c.at].next = next
		links[next].prev = c.at
		n--
		push(c.at)
		if prev := links[c.at].prev; prev >= 0 {
			push(prev)
		}
	}
	return n
}

// A candidate for a merge.
type candidate struct {
	rank uint32
	at   int32
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// candidates are a heap, without the boxes of container/heap.
type candidates []candidate

func (h *candidates) push(c candidate) {
	*h = append(*h, c)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s[i].before(s[parent]) {
			return
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *candidates) pop() candidate {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && s[child+1].before(s[child]) {
			child++
		}
		if !s[child].before(s[i]) {
			return top
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
}
