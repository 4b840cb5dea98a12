package cache

import (
	"container/list"
	"sync"
	"time"
)

// near has bytes of the shared store that this replica has put or read, and what was derived
// from them. It drops those first that were not asked for in the longest time.
type near struct {
	derived *artefacts

	mu      sync.Mutex // guards the fields below
	entries map[tombstoneKey]*copied
	order   list.List // of *copied, the longest unread first
	size    int64
}

// A copied entry is one that the store had when it was confirmed.
type copied struct {
	tombstoneKey
	kept
	gen       string // of its parts in the store
	terms     string
	size      int64
	confirmed time.Time
	made      anchor

	at *list.Element
}

func newNear(derived *artefacts) *near {
	return &near{derived: derived, entries: make(map[tombstoneKey]*copied)}
}

// get returns what is there in a generation, and notes that the store has it. Without one,
// it returns what the store had on these terms at a time or later. It returns nil for none.
func (n *near) get(agent agentKey, id ID, gen, terms string, now, since time.Time) *copied {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.entries[tombstoneKey{agent, id}]
	switch {
	case c == nil, c.terms != terms, gen == "" && !c.confirmed.After(since):
		return nil
	case gen != "" && c.gen != gen: // it went, and has come again
		n.remove(c)
		return nil
	case gen != "":
		c.confirmed = now
	}
	n.order.MoveToBack(c.at)
	return c
}

// add takes in an entry that the store has, in place of what was there.
func (n *near) add(c *copied, most int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if was := n.entries[c.tombstoneKey]; was != nil {
		n.remove(was)
	}
	c.size = int64(len(c.data)) + c.origin.size()
	c.at = n.order.PushBack(c)
	n.entries[c.tombstoneKey] = c
	n.size += c.size
	n.shrink(most)
}

// fit drops entries until the rest has most bytes.
func (n *near) fit(most int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shrink(most)
}

// shrink is fit. n.mu must be held.
func (n *near) shrink(most int64) {
	for n.size > most && n.order.Len() > 0 {
		n.remove(n.order.Front().Value.(*copied))
	}
}

// since returns what the store had at a time or later, the longest unread first.
func (n *near) since(at time.Time) (all []*copied) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for e := n.order.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*copied); c.confirmed.After(at) {
			all = append(all, c)
		}
	}
	return all
}

// drop drops an entry that the store has no more.
func (n *near) drop(agent agentKey, id ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.entries[tombstoneKey{agent, id}]; c != nil {
		n.remove(c)
	}
}

// dropIf drops all entries that are so.
func (n *near) dropIf(so func(c *copied) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.entries {
		if so(c) {
			n.remove(c)
		}
	}
}

// remove takes c out. n.mu must be held.
func (n *near) remove(c *copied) {
	delete(n.entries, c.tombstoneKey)
	n.order.Remove(c.at)
	n.size -= c.size
	n.derived.drop(&c.made)
}

// bytes is what there is.
func (n *near) bytes() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.size
}
