package cache

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
)

// A world is where the stores of a test keep what they keep: in memory, in a folder, or in a
// Redis. It has a clock of its own.
type world struct {
	form   string
	server *fleettest.Server // nil but for Redis
	fleet  string            // its name
	path   string            // of the folder
	others atomic.Int64

	mu   sync.Mutex // guards the field below
	time time.Time
}

// forms runs a test in each world.
func forms(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for _, form := range []string{"memory", "folder", "redis"} {
		t.Run(form, func(t *testing.T) { test(t, newWorld(t, form, nil)) })
	}
}

// newWorld returns an empty world. Server may be nil.
func newWorld(tb testing.TB, form string, server *fleettest.Server) *world {
	w := &world{form: form, server: server, time: time.Now().Truncate(time.Microsecond)}
	switch {
	case form == "folder":
		w.path = tb.TempDir()
	case form == "redis" && server == nil:
		w.server = fleettest.Start(tb)
	}
	if form == "redis" {
		w.fleet = strings.ReplaceAll(tb.Name(), "/", "-")
	}
	return w
}

// another is an empty world of the same form.
func (w *world) another(tb testing.TB) *world {
	other := newWorld(tb, w.form, w.server)
	other.fleet += fmt.Sprintf("-%d", w.others.Add(1))
	return other
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.time
}

func (w *world) sleep(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.time = w.time.Add(d)
}

// open returns a store of the world that is closed with the test. Those of a folder or a Redis
// are stores of one set of entries.
func (w *world) open(tb testing.TB, opts Options) *Store {
	tb.Helper()
	opts.now = w.now
	switch w.form {
	case "folder":
		opts.Dir.Path = w.path
	case "redis":
		f, err := fleet.Open(fleet.Options{URL: w.server.URL, Name: w.fleet, Secret: string(opts.Key), Logger: opts.Logger})
		if err != nil {
			tb.Fatal(err)
		}
		opts.Fleet, opts.Key = f, nil
		tb.Cleanup(f.Close)
	}
	s := open(tb, opts)
	if x, ok := s.index.(*shared); ok {
		x.fresh = 0
		tb.Cleanup(func() { checkShared(tb, w.server.Client, x) })
	}
	return s
}

// checkShared fails if what a Redis has of the index does not agree with itself, or is over a
// bound.
func checkShared(tb testing.TB, c *redis.Client, x *shared) {
	tb.Helper()
	if x.fleet.Figures().Away {
		return
	}
	ctx := context.Background()
	must := func(ok bool, format string, args ...any) {
		tb.Helper()
		if !ok {
			tb.Errorf("the index in Redis: "+format, args...)
		}
	}
	members := func(key string) map[string]float64 {
		all, err := c.ZRangeWithScores(ctx, x.key+":"+key, 0, -1).Result()
		must(err == nil, "%s: %v", key, err)
		out := map[string]float64{}
		for _, z := range all {
			out[z.Member.(string)] = z.Score
		}
		return out
	}
	count := func(set map[string]float64, begin string) (n int) {
		for name := range set {
			if strings.HasPrefix(name, begin) {
				n++
			}
		}
		return n
	}
	reads, kepts, gone, agents, classes := members("read"), members("kept"), members("gone"), members("agents"), members("classes")
	inClasses := 0
	for class := range classes {
		n := members("c:" + class)
		inClasses += len(n)
		for long, score := range n {
			must(reads[long] == score, "%s in class %s was read at %f, not %f", long, class, score, reads[long])
		}
		must(len(n) > 0, "class %s is empty", class)
	}
	must(inClasses == len(reads) && len(kepts) == len(reads), "%d entries, %d in classes, %d in the list", len(reads), inClasses, len(kepts))
	var total int64
	parts := 0
	for agent := range agents {
		own := members("a:" + agent)
		var size int64
		for short, score := range own {
			must(reads[agent+":"+short] == score, "%s was read at %f, not %f", short, score, reads[agent+":"+short])
			f := strings.Split(short, ":")
			text, err := c.Get(ctx, x.key+":e:"+agent+":"+f[0]).Result()
			must(err == nil && strings.HasPrefix(text, "K "+f[1]+" "+f[2]+" "), "%s has %.50q, %v", short, text, err)
			var n int64
			fmt.Sscan(f[1], &n)
			size += n
			var odd string
			var some int
			fmt.Sscan(text, &odd, &odd, &odd, &odd, &some)
			parts += some
		}
		sum, err := c.HGet(ctx, x.key+":i:"+agent, "bytes").Int64()
		must(err == nil && sum == size, "%s has %d bytes, summed %d, %v", agent, size, sum, err)
		must(len(own) > 0 && len(own) <= x.opts.MaxEntriesPerAgent && size <= x.opts.MaxBytesPerAgent, "%s has %d entries of %d bytes", agent, len(own), size)
		total += size
		must(len(own) == count(reads, agent+":"), "%s has %d entries, %d of them in all", agent, len(own), count(reads, agent+":"))
	}
	sum, err := c.HGet(ctx, x.key+":state", "bytes").Int64()
	must((err == nil || err == redis.Nil) && sum == total && total <= x.opts.MaxBytes, "%d bytes, summed %d, %v", total, sum, err)
	must(len(agents) <= x.opts.MaxAgents, "%d agents", len(agents))
	must(len(gone) <= x.opts.MaxTombstones, "%d tombstones", len(gone))
	for name, order := range gone {
		agent, id, _ := strings.Cut(name, ":")
		text, err := c.Get(ctx, x.key+":e:"+agent+":"+id).Result()
		must(err == nil && strings.HasPrefix(text, "G "), "tombstone %s is %.50q, %v", name, text, err)
		own, err := c.ZScore(ctx, x.key+":g:"+agent, id).Result()
		must(err == nil && own == order, "tombstone %s: %f of its agent's, %f of all, %v", name, own, order, err)
		must(count(gone, agent+":") <= x.opts.tombstones, "%s has %d tombstones", agent, count(gone, agent+":"))
	}
	records := keysOf(tb, c, x.key+":e:*")
	must(len(records) == len(reads)+len(gone), "%d records of %d entries and %d that are gone", len(records), len(reads), len(gone))
	data := keysOf(tb, c, x.fleet.SpreadKey(sharedVersion, "*"))
	must(len(data) == parts, "%d parts of data, %d in the index", len(data), parts)
	for _, key := range append(records, data...) {
		left, err := c.PTTL(ctx, key).Result()
		must(err == nil && left > 0, "%s stays for %v, %v", key, left, err)
	}
}

// keysOf are the keys of a Redis that match.
func keysOf(tb testing.TB, c *redis.Client, pattern string) []string {
	tb.Helper()
	keys, err := c.Keys(context.Background(), strings.NewReplacer("[", `\[`, "?", `\?`).Replace(pattern)).Result()
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}
