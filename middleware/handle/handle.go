// Package handle remembers which party a server gave a handle to.
//
//	a result with a task ─► Give(party, Task "t1") ─► Has(party, …), Owners(…)
//
// A server that several parties use by one connection knows no difference between them.
// What it hands out, a task ID say, lets whoever names it read the result. So a handle
// belongs to the party that was given it. A table is bounded, and what it has forgotten is
// as if nobody had been given it.
package handle

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"time"
)

// A Kind is what a handle names.
type Kind string

const (
	Task        Kind = "task"        // one that the server works on
	ClientTask  Kind = "client task" // one that a client works on for the server
	Elicitation Kind = "elicitation" // one out of band, by URL
)

// A Handle is an ID that a server, or a client, has made. IDs of one server do not clash.
type Handle struct {
	Server string
	Kind   Kind
	ID     string
}

const (
	// maxOfParty is how many handles one party has, maxOfAll how many all have: some
	// 300 bytes each, whatever the length of their IDs. The oldest go first.
	maxOfParty = 1000
	maxOfAll   = 20000
	// grace is how long a handle outlasts its time to live: the server's clock decides.
	grace = time.Minute
)

// A Table has the handles of all parties. The zero value is ready to use.
type Table struct {
	mu      sync.Mutex // guards the fields below
	given   map[key]map[string]*entry
	parties map[string]*list.List // of *entry, oldest first
	all     list.List             // the same of all
	news    chan struct{}         // closed when a handle is given; nil: nobody waits
}

// A key stands for a handle: IDs may be of any length.
type key [sha256.Size]byte

type entry struct {
	key     key
	party   string
	begun   time.Time
	expires time.Time // zero: never

	inParty, inAll *list.Element
}

func (h Handle) key() (k key) {
	sum := sha256.New()
	for _, part := range []string{h.Server, string(h.Kind), h.ID} {
		sum.Write(binary.AppendUvarint(nil, uint64(len(part))))
		sum.Write([]byte(part))
	}
	sum.Sum(k[:0])
	return k
}

// Give notes that a party was given a handle, or what its time to live is now, counted from
// when it was first given. Zero is without end.
func (t *Table) Give(party string, h Handle, ttl time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entry(party, h.key())
	if e == nil {
		e = t.add(party, h.key())
	}
	if e.expires = (time.Time{}); ttl > 0 {
		e.expires = e.begun.Add(ttl).Add(grace)
	}
	if t.news != nil {
		close(t.news)
		t.news = nil
	}
}

// Has reports whether a party was given a handle.
func (t *Table) Has(party string, h Handle) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entry(party, h.key()) != nil
}

// Owners are the parties that were given a handle, in no order.
func (t *Table) Owners(h Handle) (parties []string) {
	owners, _ := t.Watch(h)
	return owners
}

// Watch is Owners, and a channel that is closed when a handle is given next.
func (t *Table) Watch(h Handle) (parties []string, news <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := h.key()
	for party := range t.given[k] {
		parties = append(parties, party)
	}
	parties = slices.DeleteFunc(parties, func(party string) bool { return t.entry(party, k) == nil })
	if t.news == nil {
		t.news = make(chan struct{})
	}
	return parties, t.news
}

// Forget forgets what a party was given.
func (t *Table) Forget(party string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for of := t.parties[party]; of != nil && of.Len() > 0; {
		t.drop(of.Front().Value.(*entry))
	}
}

// Len is how many handles there are.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.Len()
}

// entry returns what there is, nil if nothing or if its time has passed. t.mu must be held.
func (t *Table) entry(party string, k key) *entry {
	e := t.given[k][party]
	if e != nil && !e.expires.IsZero() && time.Now().After(e.expires) {
		t.drop(e)
		return nil
	}
	return e
}

// add makes room for an entry and adds it. t.mu must be held.
func (t *Table) add(party string, k key) *entry {
	if t.given == nil {
		t.given, t.parties = map[key]map[string]*entry{}, map[string]*list.List{}
	}
	if own := t.parties[party]; own != nil && own.Len() >= maxOfParty {
		t.drop(own.Front().Value.(*entry))
	}
	if t.all.Len() >= maxOfAll {
		t.drop(t.all.Front().Value.(*entry))
	}
	own := t.parties[party]
	if own == nil {
		own = list.New()
		t.parties[party] = own
	}
	if t.given[k] == nil {
		t.given[k] = map[string]*entry{}
	}
	e := &entry{key: k, party: party, begun: time.Now()}
	e.inParty, e.inAll = own.PushBack(e), t.all.PushBack(e)
	t.given[k][party] = e
	return e
}

// drop forgets an entry. t.mu must be held.
func (t *Table) drop(e *entry) {
	own := t.parties[e.party]
	own.Remove(e.inParty)
	if own.Len() == 0 {
		delete(t.parties, e.party)
	}
	t.all.Remove(e.inAll)
	if delete(t.given[e.key], e.party); len(t.given[e.key]) == 0 {
		delete(t.given, e.key)
	}
}
