package guard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
)

const (
	// tellTime is how often a replica tells the store of all its calls that run, and
	// lostTime after how long without that they count no more: it is lost.
	tellTime = 2 * time.Second
	lostTime = 10 * time.Second
)

// A tally counts calls in a store, for all replicas. A nil one counts nothing.
//
//	Begin ─► one script: what all replicas run, and the bucket of the agent ─► room or not
//	done ─► change, by a goroutine: those of many calls in one script
//
// For each replica there is a hash: of each agent, how many of its calls run there, and
// when that was so: "CHANGE:COUNT", in which CHANGE grows with each that is made. What comes late
// is told by it. A whole hash is told anew every two seconds, which mends what was lost, and
// goes ten seconds after its replica.
type tally struct {
	calls *Calls
	store *fleet.Store
	name  string                  // of what is counted, in keys
	local func(agent string) bool // an agent of this name is another one at other replicas
	last  atomic.Uint64           // change

	wake chan struct{} // holds one when there is something to tell
	stop context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex      // guards the fields below
	pending map[string]bool // agents whose calls are to be told of
	told    bool            // that the store may have something of this replica
}

// Share has c count in a store that replicas share, under a name there. An agent that is
// local is counted here alone. While the store is away, each replica counts for itself. It is
// called before c is used; Close ends it. Without limits it does nothing.
func (c *Calls) Share(store *fleet.Store, name string, local func(agent string) bool) {
	if store == nil || c.running == 0 && c.perMinute == 0 {
		return
	}
	t := &tally{calls: c, store: store, name: name, local: local, wake: make(chan struct{}, 1), pending: map[string]bool{}}
	c.tally = t
	if c.running == 0 {
		return // a bucket is told of nothing that ends
	}
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	t.work.Go(func() { t.tell(ctx) })
	store.OnBack(func() {
		t.mu.Lock()
		t.told = true
		t.mu.Unlock()
		t.all(ctx)
	})
}

// Close has the store forget what ran here. The calls are to end before.
func (c *Calls) Close() {
	if t := c.tally; t != nil && t.stop != nil {
		t.stop()
		t.work.Wait()
	}
}

// counts reports whether calls of an agent are to be counted in the store.
func (t *tally) counts(agent string) bool { return t != nil && !t.local(agent) }

// change notes that the calls of an agent that run have changed, and has that told, if tell is
// set. The mutex of the calls must be held.
func (t *tally) change(agent string, tell bool) uint64 {
	if !t.counts(agent) || t.stop == nil {
		return 0
	}
	if tell {
		t.mu.Lock()
		t.pending[agent] = true
		t.mu.Unlock()
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
	return t.last.Add(1)
}

// field is an agent in the store: names may be long, and anybody's.
func field(agent string) string {
	sum := sha256.Sum256([]byte(agent))
	return hex.EncodeToString(sum[:16])
}

func (t *tally) running(replica string) string { return t.store.Key("running "+t.name, replica) }

// begin counts a call of an agent in the store, of whose calls n run here, since a change.
// Counted is false without an error when the store is away.
func (t *tally) begin(agent string, n int, change uint64) (counted bool, err error) {
	if t.calls.running > 0 {
		t.mu.Lock()
		t.told = true
		t.mu.Unlock()
	}
	interval := 0.0 // in microseconds
	if t.calls.perMinute > 0 {
		interval = float64(time.Minute/time.Microsecond) / float64(t.calls.perMinute)
	}
	who := field(agent)
	keys := []string{t.store.ReplicasKey(), t.running(t.store.Replica()), t.store.Key("rate "+t.name, who)}
	args := []any{who, change, n, t.calls.running, t.running(""), t.store.Replica(), lostTime.Milliseconds(), interval, t.calls.perMinute}
	var said []int64
	// Not for as long as the caller waits: what was begun must be known.
	err = t.store.Run(t.store.Life(), func(ctx context.Context, c redis.Cmdable) (err error) {
		said, err = beginScript.Run(ctx, c, keys, args...).Int64Slice()
		return err
	})
	switch {
	case err != nil || len(said) != 2:
		return false, nil // a store that cannot count is as good as away
	case said[0] == 1:
		return true, t.calls.busy()
	case said[0] == 2:
		return true, t.calls.overRate(time.Duration(said[1]) * time.Microsecond)
	}
	return true, nil
}

// beginScript counts a call, or returns 1 where as many run as may, or 2 with the time until
// the bucket has room. The bucket is the time at which it is full again, in microseconds of
// the store's clock.
var beginScript = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local limit, n, newer = tonumber(ARGV[4]), tonumber(ARGV[3]), true
if limit > 0 then
	local own = redis.call('HGET', KEYS[2], ARGV[1])
	if own then
		local change, count = string.match(own, '^(%d+):(%d+)$')
		if tonumber(change) > tonumber(ARGV[2]) then n, newer = tonumber(count), false end
	end
	local sum = n
	for _, replica in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], math.floor(now / 1000) - ARGV[7], '+inf')) do
		local there = replica ~= ARGV[6] and redis.call('HGET', ARGV[5] .. replica, ARGV[1])
		if there then sum = sum + string.match(there, ':(%d+)$') end
	end
	if sum > limit then return {1, 0} end
end
local interval = tonumber(ARGV[8])
if interval > 0 then
	local full = math.max(now, tonumber(redis.call('GET', KEYS[3]) or 0))
	local wait = full - now - (ARGV[9] - 1) * interval
	if wait > 0 then return {2, math.ceil(wait)} end
	full = full + interval
	redis.call('SET', KEYS[3], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
end
if limit > 0 and newer then
	redis.call('HSET', KEYS[2], ARGV[1], ARGV[2] .. ':' .. ARGV[3])
	redis.call('PEXPIRE', KEYS[2], ARGV[7])
end
return {0, 0}`)

// tell tells the store of calls that have ended, at once, and of all every two seconds.
func (t *tally) tell(ctx context.Context) {
	tick := time.NewTicker(tellTime)
	defer tick.Stop()
	for {
		select {
		case <-t.wake:
			t.some(ctx)
		case <-tick.C:
			t.all(ctx)
		case <-ctx.Done():
			_ = t.store.Run(t.store.Life(), func(ctx context.Context, c redis.Cmdable) error {
				return c.Del(ctx, t.running(t.store.Replica())).Err()
			})
			return
		}
	}
}

// some tells of agents whose calls have ended.
func (t *tally) some(ctx context.Context) {
	t.calls.mu.Lock()
	t.mu.Lock()
	args := t.snapshot(0)
	for agent := range t.pending {
		n := 0
		if a := t.calls.agents[agent]; a != nil {
			n = a.running
		}
		args = append(args, field(agent), n)
	}
	clear(t.pending)
	t.mu.Unlock()
	t.calls.mu.Unlock()
	t.put(ctx, args) // what is lost is told again in two seconds
}

// all tells of all agents, so that what else the store has of this replica goes.
func (t *tally) all(ctx context.Context) {
	t.calls.mu.Lock()
	t.mu.Lock()
	args, was := t.snapshot(1), t.told
	t.told = false
	for agent, a := range t.calls.agents {
		if a.running > 0 && t.counts(agent) {
			args, t.told = append(args, field(agent), a.running), true
		}
	}
	any := was || t.told
	t.mu.Unlock()
	t.calls.mu.Unlock()
	if any && !t.put(ctx, args) {
		t.mu.Lock()
		t.told = true
		t.mu.Unlock()
	}
}

// snapshot begins the arguments of tellScript. Both mutexes must be held.
func (t *tally) snapshot(whole int) []any {
	return []any{t.last.Load(), lostTime.Milliseconds(), whole}
}

func (t *tally) put(ctx context.Context, args []any) (ok bool) {
	return t.store.Run(ctx, func(ctx context.Context, c redis.Cmdable) error {
		return tellScript.Run(ctx, c, []string{t.running(t.store.Replica())}, args...).Err()
	}) == nil
}

// tellScript writes how many calls of agents run here, as of a change, where the hash has
// nothing later. If that is the whole, others go, unless they are later.
var tellScript = redis.NewScript(`
local known, at = {}, tonumber(ARGV[1])
local function later(was) return was and tonumber(string.match(was, '^(%d+):')) > at end
for i = 4, #ARGV, 2 do
	known[ARGV[i]] = true
	if not later(redis.call('HGET', KEYS[1], ARGV[i])) then
		if ARGV[i + 1] == '0' then redis.call('HDEL', KEYS[1], ARGV[i])
		else redis.call('HSET', KEYS[1], ARGV[i], ARGV[1] .. ':' .. ARGV[i + 1]) end
	end
end
if ARGV[3] == '1' then
	local all = redis.call('HGETALL', KEYS[1])
	for i = 1, #all, 2 do
		if not known[all[i]] and not later(all[i + 1]) then redis.call('HDEL', KEYS[1], all[i]) end
	end
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`)
