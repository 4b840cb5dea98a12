package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"rlmproxy/fleet"
)

const (
	// sharedVersion is that of all that the store has: another version leaves it alone.
	sharedVersion = "cache1"
	// freshTime is how long an artefact of an entry is answered without asking the store
	// again whether it still has the entry: one call asks for several.
	freshTime = time.Second
	// askOver is from how many bytes on the store is asked whether it has a result before
	// that is written: below, to write it costs less than to ask.
	askOver = 64 << 10
	// scriptSteps is how many entries one call of the script takes out: some milliseconds
	// of the server's time.
	scriptSteps = 200
	// maxRounds bounds how often the script is called for one thing.
	maxRounds = 1000
	// stayOver is how much longer than a TTL the index outlives its last use: as long as it
	// says what became of an id, and a day.
	stayOver = goneAge + 24*time.Hour
	// awayRetry is when who asks is told to try again, where the store refuses.
	awayRetry = 5 * time.Second
	// maxPending bounds the agents that are to be forgotten once the store is back. Of
	// others, what the store has expires.
	maxPending = 10_000
)

// A shared index is in a Redis or Valkey that several replicas use: it is the same for all of
// them. Who keeps what is in keys of one slot, changed by a script; the data are in parts with
// keys of their own, which expire; see parts.go.
//
//	put ─► parts ─► script: room is made, the entry is there ─► what was evicted is unlinked
//	get ─► script: is it there? ─► near ─ not here ─► parts ─► is it what was put?
//
// While the store is away, what is put is kept in a local index, and moves to the store when
// that is back.
type shared struct {
	opts    *Options
	fleet   *fleet.Store
	keys    func() [][]byte
	derived *artefacts
	counts  *counters
	pack    *packer
	near    *near
	local   *local // what was put while the store was away

	key      string // what the keys of the index begin with
	fresh    time.Duration
	steps    int
	trouble  sync.Once // logs that the store refuses
	fetches  singleflight.Group
	fetching chan struct{} // has a place for each fetch that runs

	moving sync.Mutex // held while entries move to the store; guards the field below
	life   string     // names what the store had when it was last asked: all that is lost has another

	mu      sync.Mutex // guards the fields below
	closed  bool
	terms   string
	pending map[agentKey]bool // to be forgotten when the store is back
}

var _ index = (*shared)(nil)

func newShared(opts *Options, keys func() [][]byte, derived *artefacts, counts *counters) (*shared, error) {
	pack, err := newPacker()
	if err != nil {
		return nil, err
	}
	x := &shared{
		opts: opts, fleet: opts.Fleet, keys: keys, derived: derived, counts: counts, pack: pack,
		near: newNear(derived), local: newLocal(opts, derived, counts),
		key: opts.Fleet.Key(sharedVersion), fresh: freshTime, steps: scriptSteps, fetching: make(chan struct{}, 4),
		terms: opts.Terms, pending: make(map[agentKey]bool),
	}
	x.fleet.OnBack(x.move)
	x.move()
	return x, nil
}

// close implements [index]. What is in the store stays.
func (x *shared) close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.moving.Lock() // move has ended
	defer x.moving.Unlock()
	x.local.close()
	x.near.dropIf(func(*copied) bool { return true })
}

func (x *shared) isClosed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.closed
}

func (x *shared) getTerms() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.terms
}

// setTerms implements [index]. What the store has on other terms expires when it is asked for.
func (x *shared) setTerms(terms string) {
	x.mu.Lock()
	same := x.terms == terms
	x.terms = terms
	x.mu.Unlock()
	if same {
		return
	}
	x.local.setTerms(terms)
	x.near.dropIf(func(*copied) bool { return true })
}

// put implements [index].
func (x *shared) put(e *entering) error {
	if x.isClosed() {
		return ErrClosed
	}
	terms := x.getTerms()
	var err error
	if e.terms != "" && e.terms != terms { // it may show what is hidden by now
		_, err = x.enter(e, terms, "-", 0, 0, 0, 0)
	} else {
		err = x.store(e, terms, 0)
	}
	if err == nil {
		x.local.leave(e.agent, e.id)
		return nil
	}
	if err := x.local.put(e); err != nil {
		return err
	}
	x.near.fit(x.room())
	x.opts.Logger.Debug("cache: an entry answers on this replica only", "id", e.id, "agent", e.agent.String(), "bytes", e.size, "error", err)
	return nil
}

// room is how many bytes near may have.
func (x *shared) room() int64 { return max(x.opts.MaxBytes-x.local.bytes(), 0) }

// store keeps an entry in the store, which was read last before a time.
func (x *shared) store(e *entering, terms string, idle time.Duration) error {
	if len(e.data) > askOver {
		r, err := x.enter(e, terms, "", 0, 0, 0, idle)
		if err != nil {
			return err
		}
		if r.status == "kept" {
			x.came(e, terms, "", r)
			return nil
		}
	}
	head := appendSized(nil, x.sealed(e.agent, e.id, e.origin))
	packed := x.pack.pack(head, e.data)
	gen, n, err := x.upload(packed)
	if err != nil {
		return err
	}
	raw := len(head) + len(e.data)
	r, err := x.enter(e, terms, gen, n, len(e.data), raw, idle)
	if err != nil {
		return err // it may have been done: the parts stay, and expire if not
	}
	if r.text(0) != gen {
		x.unlink(x.parts(gen, n))
	}
	x.came(e, terms, gen, r)
	return nil
}

// enter has the script put an entry.
func (x *shared) enter(e *entering, terms, gen string, parts, data, raw int, idle time.Duration) (reply, error) {
	name := e.name
	if len(name) > maxName {
		name = ""
	}
	o := x.opts
	return x.again("put", terms, e.agent.named(), string(e.id), name, gen, parts, e.size, data, raw, x.sealed(e.agent, e.id, e.origin.remembered()), idle.Microseconds(),
		o.MaxEntriesPerAgent, o.MaxBytesPerAgent, o.MaxBytes, o.MaxAgents)
}

// came takes an entry into near that the store has, by our own put or since before, unless it
// has that of another origin.
func (x *shared) came(e *entering, terms, own string, r reply) {
	gen, parts, stays, origin := r.text(0), int(r.number(1)), r.number(3) == 1, r.text(4)
	now := x.opts.now()
	if x.near.get(e.agent, e.id, gen, terms, now, now) == nil && origin == string(x.sealed(e.agent, e.id, e.origin.remembered())) {
		o := e.origin
		o.Arguments = append(o.Arguments[:0:0], o.Arguments...) // usually a slice of a whole request line
		x.near.add(&copied{tombstoneKey: tombstoneKey{e.agent, e.id}, kept: kept{o, e.data}, gen: gen, terms: terms, confirmed: now}, x.room())
	}
	if stays && gen != own {
		x.stay(gen, parts)
	}
}

// get implements [index].
func (x *shared) get(agent agentKey, name string, id ID) (*kept, error) {
	if k, err := x.local.get(agent, name, id); err == nil {
		return k, nil
	}
	return x.read(agent, id, true)
}

// look implements [index].
func (x *shared) look(agent agentKey, id ID) (*kept, error) {
	if k, err := x.local.look(agent, id); err == nil {
		return k, nil
	}
	return x.read(agent, id, false)
}

// read returns what the store has.
func (x *shared) read(agent agentKey, id ID, counts bool) (*kept, error) {
	for range maxRounds {
		c, r, err := x.ask(agent, id, counts)
		if err == nil && c == nil {
			c, err = x.bring(agent, id, r.text(0), int(r.number(1)), r.number(2))
		}
		switch {
		case err == nil:
			return &c.kept, nil
		case !errors.Is(err, errNotWritten):
			return nil, err
		}
		if r, err = x.do("lost", x.getTerms(), agent.named(), string(id), r.text(0)); err != nil {
			return nil, err
		}
		if r.status != "kept" {
			return nil, x.absent(agent, id, r)
		} // else it has come again meanwhile
	}
	return nil, x.troubled(errors.New("an entry comes and goes"))
}

// bring fetches an entry from the store, once for all that ask at one time: many calls for a
// large entry are to hold it once.
func (x *shared) bring(agent agentKey, id ID, gen string, parts int, raw int64) (*copied, error) {
	terms := x.getTerms()
	v, err, _ := x.fetches.Do(string(agent[:])+string(id)+gen, func() (any, error) {
		now := x.opts.now()
		if c := x.near.get(agent, id, gen, terms, now, now); c != nil {
			return c, nil
		}
		x.fetching <- struct{}{}
		defer func() { <-x.fetching }()
		k, err := x.fetch(agent, id, gen, parts, raw)
		if err != nil {
			return nil, err
		}
		c := &copied{tombstoneKey: tombstoneKey{agent, id}, kept: *k, gen: gen, terms: terms, confirmed: now}
		x.near.add(c, x.room())
		return c, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*copied), nil
}

// ask asks the store for an id. It returns what there is near of what the store has, or its
// reply where nothing is. While the store is away, what it had within the TTL is answered.
func (x *shared) ask(agent agentKey, id ID, counts bool) (c *copied, r reply, err error) {
	if x.isClosed() {
		return nil, r, ErrClosed
	}
	flag := "0"
	if counts {
		flag = "1"
	}
	now := x.opts.now()
	terms := x.getTerms()
	r, err = x.do("get", terms, agent.named(), string(id), flag)
	if err != nil {
		if c := x.near.get(agent, id, "", terms, now, now.Add(-x.opts.TTL)); c != nil {
			return c, r, nil
		}
		if gone := x.local.tombstone(agent, id); gone != nil {
			return nil, r, gone
		}
		return nil, r, err
	}
	switch r.status {
	case "kept":
	case "none": // a store that has lost its data is given it back in a moment
		return nil, r, x.absent(agent, id, r)
	default:
		x.near.drop(agent, id)
		return nil, r, x.absent(agent, id, r)
	}
	if r.number(3) == 1 {
		x.stay(r.text(0), int(r.number(1)))
	}
	return x.near.get(agent, id, r.text(0), terms, now, now), r, nil
}

// absent is the error for an id that the store has no entry for.
func (x *shared) absent(agent agentKey, id ID, r reply) error {
	if r.status == "gone" {
		reason := Reason(r.text(0))
		if reason != Expired {
			reason = Evicted
		}
		origin, _, _ := x.unsealed(agent, id, []byte(r.text(1))) // or one that nobody can tell
		return x.opts.gone(id, reason, origin)
	}
	if gone := x.local.tombstone(agent, id); gone != nil {
		return gone
	}
	return x.opts.gone(id, Evicted, Origin{})
}

// anchor implements [index]. It is nil, and no artefact is kept, where nothing is near, and
// while the store is away.
func (x *shared) anchor(agent agentKey, id ID, read bool) (*anchor, error) {
	if on, err := x.local.anchor(agent, id, read); err == nil {
		return on, nil
	}
	now := x.opts.now()
	if c := x.near.get(agent, id, "", x.getTerms(), now, now.Add(-x.fresh)); c != nil {
		return &c.made, nil
	}
	c, _, err := x.ask(agent, id, read)
	var away *fleet.AwayError
	switch {
	case errors.As(err, &away):
		return nil, nil
	case c == nil:
		return nil, err
	}
	return &c.made, nil
}

// forget implements [index].
func (x *shared) forget(agent agentKey) {
	x.local.forget(agent)
	x.near.dropIf(func(c *copied) bool { return c.agent == agent })
	if _, err := x.again("forget", "", agent.named()); err != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		if len(x.pending) < maxPending {
			x.pending[agent] = true
		}
	}
}

// lostAll reports whether the store has lost its data since it was last asked, as one does
// that is restarted and writes nothing to disk. x.moving must be held.
func (x *shared) lostAll() (bool, error) {
	life := rand.Text()
	err := x.run(func(ctx context.Context, c redis.Cmdable) error {
		is, err := c.SetArgs(ctx, x.key+":life", life, redis.SetArgs{Mode: "NX", Get: true, TTL: x.opts.TTL + stayOver}).Result()
		if err == nil {
			life = is
			err = c.PExpire(ctx, x.key+":life", x.opts.TTL+stayOver).Err()
		}
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) { // which says that there was none
		return false, err
	}
	lost := x.life != "" && x.life != life
	x.life = life
	return lost, nil
}

// restore gives a store that has lost its data what is near. x.moving must be held.
func (x *shared) restore() error {
	lost, err := x.lostAll()
	if err != nil || !lost {
		return err
	}
	now, terms := x.opts.now(), x.getTerms()
	for _, c := range x.near.since(now.Add(-x.opts.TTL)) {
		if x.isClosed() {
			return ErrClosed
		}
		if c.terms != terms {
			continue
		}
		e := entering{agent: c.agent, id: c.id, origin: c.origin, data: c.data, size: c.size}
		if err := x.store(&e, terms, now.Sub(c.confirmed)); err != nil {
			x.life = "-" // what is missing is looked for again
			return err
		}
	}
	return nil
}

// move brings the store what it missed while it was away: agents that have ended, and what
// was kept here. A store that has lost its data gets what is near. What does not fit makes
// others go, as ever.
func (x *shared) move() {
	x.moving.Lock()
	defer x.moving.Unlock()
	if x.isClosed() {
		return
	}
	x.mu.Lock()
	var ended []agentKey
	for agent := range x.pending {
		ended = append(ended, agent)
	}
	x.mu.Unlock()
	for _, agent := range ended {
		if _, err := x.again("forget", "", agent.named()); err != nil {
			return
		}
		x.mu.Lock()
		delete(x.pending, agent)
		x.mu.Unlock()
	}
	if x.restore() != nil {
		return
	}
	for _, e := range x.local.all() {
		if x.isClosed() || x.store(&e.entering, e.terms, e.idle) != nil {
			return
		}
		x.local.leave(e.agent, e.id)
	}
}

// sweep implements [index].
func (x *shared) sweep() {
	x.local.sweep()
	since := x.opts.now().Add(-x.opts.TTL)
	x.near.dropIf(func(c *copied) bool { return !c.confirmed.After(since) })
	if _, err := x.again("sweep", ""); err == nil {
		x.move() // what was put just when the store came back
	}
}

// totals implements [index]. While the store is away, it is what is kept on this replica only.
func (x *shared) totals(now *Stats) {
	x.local.totals(now)
	if r, err := x.do("totals", ""); err == nil {
		now.Entries += int(r.number(0))
		now.Agents = max(now.Agents, int(r.number(1)))
		now.Bytes += r.number(2)
	}
	now.Near = x.near.bytes()
}
