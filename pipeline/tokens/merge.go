package tokens

import "container/heap"

// Byte-pair encoding (Sennrich, Haddow and Birch, Neural Machine Translation of Rare
// Words with Subword Units, 2016): a piece is its bytes to begin with, and of the
// neighbours that together are a token those are merged whose token has the lowest
// rank, the leftmost of equals, until none are left.

// A part of a piece, in a list: the end of the list is the last one, which is empty.
type part struct {
	prev, next int
	rank       uint32 // of this part and the next together; none also if it is no part
}

// merged returns how many tokens a piece has, which must not be empty.
func (t *table) merged(piece []byte) int {
	if t.rank(piece) != none {
		return 1
	}
	parts := make([]part, len(piece)+1)
	for i := range parts {
		parts[i] = part{i - 1, min(i+1, len(piece)), none}
	}
	queue := make(candidates, 0, len(piece))
	offer := func(i int) {
		parts[i].rank = none
		if next := parts[i].next; next < len(piece) {
			parts[i].rank = t.rank(piece[i:parts[next].next])
		}
		if parts[i].rank != none {
			queue = append(queue, candidate{parts[i].rank, i})
		}
	}
	for i := range piece {
		offer(i)
	}
	heap.Init(&queue)
	n := len(piece)
	for len(queue) > 0 {
		c := heap.Pop(&queue).(candidate)
		if parts[c.at].rank != c.rank {
			continue // it has been merged otherwise
		}
		gone := parts[c.at].next
		next := parts[gone].next
		parts[gone].rank = none
		parts[c.at].next = next
		parts[next].prev = c.at
		n--
		for _, i := range []int{c.at, parts[c.at].prev} {
			if i >= 0 {
				before := len(queue)
				if offer(i); len(queue) > before {
					heap.Fix(&queue, before)
				}
			}
		}
	}
	return n
}

// A candidate for a merge: the part at an offset with the next one.
type candidate struct {
	rank uint32
	at   int
}

// candidates are a [heap.Interface], lowest rank first, then leftmost.
type candidates []candidate

func (h candidates) Len() int      { return len(h) }
func (h candidates) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h candidates) Less(i, j int) bool {
	return h[i].rank < h[j].rank || h[i].rank == h[j].rank && h[i].at < h[j].at
}
func (h *candidates) Push(c any) { *h = append(*h, c.(candidate)) }
func (h *candidates) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}
