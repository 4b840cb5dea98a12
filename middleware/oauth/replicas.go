package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
	"rlmproxy/keyring"
)

const (
	// leaseTime is how long a replica has the lock of a grant: it asks once within, and
	// revokes at most two tokens. A replica that is lost meanwhile holds up the others for
	// no longer.
	leaseTime = 25 * time.Second
	// spareTime is what of that is left for writing down what asking has brought.
	spareTime = 3 * time.Second
	// turnPause is how often a lock that another replica has is tried.
	turnPause = 100 * time.Millisecond
	// aheadTime is how long a replica waits for another that renews a token, if its own can still be used.
	aheadTime = 2 * time.Second
)

// errSealed is that the store's grant is of no use here.
var errSealed = errors.New("the sign-in in the shared store was sealed with another fleetKey than this process has")

// Replicas are those that share their sign-ins, in a store:
//
//	get ─► sealed grant, and how often it was changed ─► opened with a key of the fleet
//	set ─► sealed ─► the store; the others are told, and read it again
//
// A grant is renewed by the one replica that has its lock. What is sealed is bound to the
// server's name and URL.
type Replicas struct {
	store *fleet.Store
	adopt bool

	mu       sync.Mutex // guards the field below
	accounts map[string]*Account
}

// NewReplicas returns the sign-ins that are in a store. With adopt, one that the keyring of
// this machine has, where the store never had any, is moved to the store.
func NewReplicas(store *fleet.Store, adopt bool) *Replicas {
	r := &Replicas{store: store, adopt: adopt, accounts: map[string]*Account{}}
	store.Handle("sign-in", func(_ string, body json.RawMessage) {
		var name string
		if json.Unmarshal(body, &name) != nil {
			return
		}
		r.mu.Lock()
		a := r.accounts[name]
		r.mu.Unlock()
		if a != nil {
			a.outdate()
		}
	})
	store.OnBack(func() {
		r.mu.Lock()
		all := make([]*Account, 0, len(r.accounts))
		for _, a := range r.accounts {
			all = append(all, a)
		}
		r.mu.Unlock()
		for _, a := range all {
			a.restore()
		}
	})
	return r
}

// vault is that of an account, whose keyring was local.
func (r *Replicas) vault(a *Account, l *local) *sharedVault {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accounts[l.name] = a // the last, of those that a change of the configuration replaces
	return &sharedVault{replicas: r, store: r.store, local: l, name: l.name}
}

// A sharedVault is a hash in the store: the sealed grant, or "" when somebody has signed out,
// and how often it was changed.
type sharedVault struct {
	replicas *Replicas
	store    *fleet.Store
	local    *local
	name     string

	mu      sync.Mutex  // guards the fields below
	changes int64       // of the grant that this replica read last
	unsaved string      // a later one, which could not be written, or ""
	kept    *fleet.Lock // that was not given back for that, or nil
}

var _ vault = (*sharedVault)(nil)

func (v *sharedVault) key() string { return v.store.Key("sign-in", v.name) }
func (v *sharedVault) known() bool { return true }

func (v *sharedVault) run(f func(ctx context.Context, c redis.Cmdable) error) error {
	return v.store.Run(v.store.Life(), f)
}

// about is what a sealed grant is bound to.
func (v *sharedVault) about() []byte { return []byte("rlmproxy sign-in " + v.name) }

func (v *sharedVault) seal(text string) []byte {
	return fleet.Sealer(v.store.Keys("sign-in")[0]).Seal(nil, nil, []byte(text), v.about())
}

func (v *sharedVault) unseal(sealed []byte) (string, error) {
	for _, key := range v.store.Keys("sign-in") {
		if text, err := fleet.Sealer(key).Open(nil, nil, sealed, v.about()); err == nil {
			return string(text), nil
		}
	}
	return "", errSealed
}

func (v *sharedVault) get() (string, error) {
	v.mu.Lock()
	unsaved := v.unsaved
	v.mu.Unlock()
	if unsaved != "" { // the store's refresh token has been used
		if err := v.restore(unsaved); err != nil {
			return "", err
		}
	}
	for range 2 {
		var changes int64
		sealed, there := "", false
		err := v.run(func(ctx context.Context, c redis.Cmdable) error {
			both, err := c.HMGet(ctx, v.key(), "changes", "grant").Result()
			if err == nil && len(both) == 2 && both[0] != nil {
				there = true
				sealed, _ = both[1].(string)
				text, _ := both[0].(string)
				_, err = fmt.Sscan(text, &changes)
			}
			return err
		})
		switch {
		case err != nil:
			return "", err
		case there:
			v.mu.Lock()
			v.changes = changes
			v.mu.Unlock()
			if sealed == "" {
				return "", keyring.ErrNotFound
			}
			return v.unseal([]byte(sealed))
		case !v.replicas.adopt || !v.local.known():
			return "", keyring.ErrNotFound
		}
		text, err := v.local.get()
		if err != nil {
			return "", err
		}
		// Of two replicas that have one, the first is taken.
		taken, err := v.put(text, 1)
		if err != nil {
			return "", err
		}
		if taken {
			_ = v.local.remove() // a refresh token is used by one alone
		}
	}
	return "", keyring.ErrNotFound
}

// put writes a grant that was changed so many times, unless the store has one that was
// changed as often, or more.
func (v *sharedVault) put(text string, changes int64) (taken bool, err error) {
	sealed := v.seal(text)
	err = v.run(func(ctx context.Context, c redis.Cmdable) error {
		taken, err = putScript.Run(ctx, c, []string{v.key()}, changes, sealed).Bool()
		return err
	})
	return taken, err
}

var putScript = redis.NewScript(`
if tonumber(redis.call('HGET', KEYS[1], 'changes') or 0) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'changes', ARGV[1], 'grant', ARGV[2])
return 1`)

func (v *sharedVault) set(text string) error {
	_, changes, err := v.change(v.seal(text))
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.unsaved = text
		return err
	}
	v.changes, v.unsaved = changes, ""
	return nil
}

func (v *sharedVault) remove() error {
	was, _, err := v.change(nil)
	if err == nil && !was {
		err = keyring.ErrNotFound
	}
	return err
}

// change writes what is sealed, or that nobody is signed in, and tells the others. It
// reports whether somebody was.
func (v *sharedVault) change(sealed []byte) (was bool, changes int64, err error) {
	var said []int64
	err = v.run(func(ctx context.Context, c redis.Cmdable) error {
		said, err = changeScript.Run(ctx, c, []string{v.key()}, sealed).Int64Slice()
		return err
	})
	if err != nil || len(said) != 2 {
		return false, 0, err
	}
	_ = v.store.Tell(v.store.Life(), "", "sign-in", v.name) // who misses it finds out when the token ends
	return said[0] == 1, said[1], nil
}

var changeScript = redis.NewScript(`
local was = redis.call('HGET', KEYS[1], 'grant')
redis.call('HSET', KEYS[1], 'grant', ARGV[1])
return {was and was ~= '' and 1 or 0, redis.call('HINCRBY', KEYS[1], 'changes', 1)}`)

// restore gives a store that has lost its data the grant that this replica has, or what it
// could not write down, unless the store has a later one.
func (v *sharedVault) restore(text string) error {
	v.mu.Lock()
	changes := v.changes
	if v.unsaved != "" {
		text = v.unsaved
		changes++
	}
	v.mu.Unlock()
	taken, err := v.put(text, changes)
	if err != nil {
		return err
	}
	v.mu.Lock()
	kept := v.kept
	v.unsaved, v.kept = "", nil
	if taken {
		v.changes = changes
	}
	v.mu.Unlock()
	if kept != nil {
		v.unlock(kept)
	}
	if taken {
		_ = v.store.Tell(v.store.Life(), "", "sign-in", v.name)
	}
	return nil
}

// lock takes the lock, which another replica may have. While the store is away, nobody can:
// of two that renew with one refresh token, the second ends the sign-in of both.
func (v *sharedVault) lock(ctx context.Context) (unlock func(), ends time.Time, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, leaseTime+spareTime, errors.New("another replica has the lock of this sign-in: try again in a moment"))
	defer cancel()
	tick := time.NewTicker(turnPause)
	defer tick.Stop()
	for {
		begun := time.Now()
		lock, err := v.store.Lock(v.store.Life(), v.lockKey(), leaseTime)
		switch {
		case lock != nil:
			return func() { v.unlock(lock) }, begun.Add(leaseTime - spareTime), nil
		case err != nil:
			return nil, ends, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ends, context.Cause(ctx)
		}
	}
}

func (v *sharedVault) lockKey() string { return v.store.Key("sign-in lock", v.name) }

// unlock gives the lock back, unless the store lacks what it was for: then nobody else is to
// use the refresh token, for as long as that can be.
func (v *sharedVault) unlock(lock *fleet.Lock) {
	v.mu.Lock()
	keep := v.unsaved != ""
	if keep {
		v.kept = lock
	}
	v.mu.Unlock()
	if !keep {
		_ = lock.Unlock(v.store.Life())
	}
}
