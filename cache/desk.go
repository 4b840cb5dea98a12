package cache

import (
	"cmp"
	"encoding/hex"
	"errors"
	"slices"
	"time"
)

// A Listed entry is one that an agent keeps, as [Store.List] has it.
type Listed struct {
	Shelf  string // stands for the agent, at a [Desk]
	Agent  string // its name, or "" of one with a long name, or that was not heard of since the start
	ID     ID
	Origin Origin
	Bytes  int64     // of the result
	Kept   time.Time // when it came last; of one from before the start, when it was read last
	Ends   time.Time // when it expires unless it is read
}

// List returns what all agents keep, at most so many entries, those first that came last,
// and how many there are. To be listed does not count as a read. It looks at every entry
// of every agent: 20,000 of them, which are the most by default, take 15 ms, of which 3 ms
// with the lock held.
func (s *Store) List(most int) (list []Listed, all int) { return s.index.list(most) }

// list implements [index].
func (l *local) list(most int) (list []Listed, all int) {
	now := l.opts.now()
	type seen struct {
		rec        *record // of which only what never changes is read without the lock
		agent      string
		kept, ends time.Time
	}
	var found []seen
	l.mu.Lock()
	for _, sh := range l.agents {
		for _, rec := range sh.records {
			if ends := rec.lastRead.Add(l.opts.TTL); ends.After(now) {
				found = append(found, seen{rec, sh.name, rec.kept, ends})
			}
		}
	}
	l.mu.Unlock()
	slices.SortFunc(found, func(a, b seen) int { return cmp.Or(b.kept.Compare(a.kept), cmp.Compare(b.rec.seq, a.rec.seq)) })
	for _, e := range found[:min(most, len(found))] {
		r := e.rec
		list = append(list, Listed{r.shelf.agent.hex(), e.agent, r.id, r.origin, r.size - r.origin.size(), e.kept, e.ends})
	}
	return list, len(found)
}

// listAtOnce is how many entries one call of the script lists.
const listAtOnce = 200

// list implements [index]. While the store is away, it is what is kept on this replica only.
func (x *shared) list(most int) (list []Listed, all int) {
	list, all = x.local.list(most)
	for skip, found := 0, 0; found < most; skip += listAtOnce {
		r, err := x.do("list", x.getTerms(), skip, listAtOnce)
		if err != nil {
			break
		}
		if skip == 0 {
			all += int(r.number(0))
		}
		var rows []any
		if len(r.rest) > 1 {
			rows, _ = r.rest[1].([]any)
		}
		for _, row := range rows {
			values, _ := row.([]any)
			if e, ok := x.listed(reply{rest: values}); ok {
				list = append(list, e)
				found++
			}
		}
		if r.status != "again" {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b Listed) int { return b.Kept.Compare(a.Kept) })
	return list[:min(most, len(list))], all
}

// listed reads a row of what the script lists.
func (x *shared) listed(row reply) (e Listed, ok bool) {
	agent, ok := parseNamed(row.text(0))
	if !ok {
		return e, false
	}
	id := ID(row.text(1))
	origin, _, _ := x.unsealed(agent, id, []byte(row.text(6)))
	return Listed{Shelf: agent.hex(), Agent: row.text(2), ID: id, Origin: origin, Bytes: row.number(3),
		Kept: time.UnixMicro(row.number(4)), Ends: time.UnixMicro(row.number(5)).Add(x.opts.TTL)}, true
}

// maxName bounds the name of an agent that is kept for lists, in bytes.
const maxName = 256

// named notes whose shelf it is. The index's mu must be held.
func (sh *shelf) named(agent string) {
	if len(agent) <= maxName {
		sh.name = agent
	}
}

// A Desk is where the operator looks at what agents keep. Whoever looks is no agent: an
// entry expires and is evicted as if nobody had looked, and what is made of it is kept at
// the desk, where it takes no room of an agent's. Its methods are those of a [Store], for
// shelves as [Store.List] names them. It is safe for concurrent use.
type Desk struct{ of, own *Store }

// NewDesk returns a desk at a store. What is kept at the desk has the bounds of opts, of
// which Key, Terms, Dir and Fleet do not count. Close ends its goroutines.
func NewDesk(of *Store, opts Options) (*Desk, error) {
	opts.Key, opts.Terms, opts.Dir, opts.Fleet = nil, of.Terms(), Dir{}, nil
	own, err := New(opts)
	if err != nil {
		return nil, err
	}
	own.keys = of.keys // so that ids are those which the agent would get
	return &Desk{of, own}, nil
}

// Close drops what is kept at the desk. Closing twice is fine.
func (d *Desk) Close() error { return d.own.Close() }

// Terms are those of the store.
func (d *Desk) Terms() string { return d.of.Terms() }

// kept is the store of the desk itself, on the terms of now.
func (d *Desk) kept() *Store {
	d.own.SetTerms(d.of.Terms())
	return d.own
}

// Get returns an entry of a shelf, or what was made of one. The error is that of
// [Store.Get].
func (d *Desk) Get(shelf string, id ID) (*Entry, error) {
	key, ok := parseShelf(shelf)
	if !ok {
		return nil, ErrUnknown
	}
	entry, err := d.of.look(key, shelf, id)
	if gone(err) {
		if made, err := d.kept().look(key, shelf, id); err == nil {
			return made, nil
		}
	}
	return entry, err
}

// look is Get for somebody who is not the agent.
func (s *Store) look(key agentKey, shelf string, id ID) (*Entry, error) {
	if !s.issued(key, id) {
		return nil, ErrUnknown
	}
	k, err := s.index.look(key, id)
	if err != nil {
		return nil, err
	}
	return &Entry{ID: id, Agent: shelf, Origin: k.origin, Data: k.data}, nil
}

// Put keeps at the desk what was made of entries of a shelf. The error is that of
// [Store.Put].
func (d *Desk) Put(shelf string, origin Origin, data []byte) (ID, error) {
	key, ok := parseShelf(shelf)
	if !ok {
		return "", ErrUnknown
	}
	return d.kept().put(key, "", origin, data)
}

// Derived is [Store.Derived] of what Get returns. Artefacts of an entry of the store are kept
// there, beside those of its agent: they may refer to who reads it, and so are not the same.
func (d *Desk) Derived(shelf string, id ID, key string, build func() (value any, sizeBytes int64, err error)) (any, error) {
	agent, ok := parseShelf(shelf)
	if !ok {
		return nil, ErrUnknown
	}
	value, err := d.of.artefact(agent, id, false, "desk/"+key, build)
	if gone(err) {
		return d.kept().artefact(agent, id, false, key, build)
	}
	return value, err
}

// gone reports whether err says that there is no such entry.
func gone(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrExpired) || errors.Is(err, ErrEvicted)
}

// hex is how [Store.List] names an agent.
func (k agentKey) hex() string { return hex.EncodeToString(k[:]) }

// parseShelf reads how [Store.List] names an agent.
func parseShelf(shelf string) (key agentKey, ok bool) {
	n, err := hex.Decode(key[:], []byte(shelf[:min(len(shelf), 2*len(key))]))
	return key, err == nil && n == len(key) && len(shelf) == 2*len(key)
}
