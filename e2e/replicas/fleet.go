package replicas

import (
	"context"
	"testing"

	"rlmproxy/fleet/fleettest"
)

// A Fleet is some replicas with one store, behind a balancer.
type Fleet struct {
	*Balancer
	tb       testing.TB
	Replicas []*Replica
	Store    *fleettest.Server // nil: there is none
}

// Options configures a [Fleet].
type Options struct {
	// Binary is the program, see [Build].
	Binary string
	// N is how many replicas there are.
	N int
	// NoStore leaves out the store: each replica stands alone.
	NoStore bool
	// Env and Args are those of each replica: serve --config FILE, say.
	Env, Args []string
}

// Start starts a fleet and returns when all of it is ready.
func Start(tb testing.TB, opts Options) *Fleet {
	tb.Helper()
	f := &Fleet{Balancer: NewBalancer(tb, opts.N), tb: tb}
	env := opts.Env
	if !opts.NoStore {
		f.Store = fleettest.StartLasting(tb)
		tb.Cleanup(f.allowed)
		env = append(env[:len(env):len(env)], "RLMPROXY_CACHE_URL="+f.Store.URL)
	}
	for range opts.N {
		r := New(tb, opts.Binary, env, opts.Args...)
		f.Replicas = append(f.Replicas, r)
		r.StartOnly() // all at once, as a deployment does
	}
	for i, r := range f.Replicas {
		r.Ready()
		f.Join(i, r.URL())
	}
	return f
}

// allowed holds that no replica has asked the store for what operators are told not to allow.
// A store that was restarted has forgotten what it denied before.
func (f *Fleet) allowed() {
	denied, err := f.Store.Client.Do(context.Background(), "ACL", "LOG", 10).Slice()
	if err != nil || len(denied) > 0 {
		f.tb.Errorf("what the store has denied: %v, %v", denied, err)
	}
}

// Restart starts the ith replica, which does not run, and has it get requests when it is
// ready.
func (f *Fleet) Restart(i int) {
	f.Replicas[i].Start()
	f.Join(i, f.Replicas[i].URL())
}
