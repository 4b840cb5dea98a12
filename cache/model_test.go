package cache

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
)

// A model is the store without its machinery: a list of what is kept, and a
// map of what became of the rest. It expires at once and decides like the
// documentation says, by looking at everything.
type model struct {
	opts Options
	now  func() time.Time
	kept []*item // oldest first
	// forgotten are those that are gone with their agent's session.
	forgotten map[ID]bool
	gone      map[string]map[ID]Reason
	used      map[string]used // of agents that keep something
	n         int
}

type item struct {
	agent string
	id    ID // the agent, a slash, data: each store has another id for that
	data  string
	size  int64
	read  time.Time
	kept  time.Time
}

type used struct {
	at    time.Time
	since int
}

func (m *model) drop(it *item, why Reason) {
	m.kept = slices.DeleteFunc(m.kept, func(o *item) bool { return o == it })
	m.gone[it.agent][it.id] = why
	if m.bytes(it.agent, 0) == (total{}) {
		delete(m.used, it.agent)
	}
}

// bytes totals what agent keeps, or all for "", with one more entry of size.
func (m *model) bytes(agent string, size int64) (t total) {
	for _, it := range m.kept {
		if agent == "" || it.agent == agent {
			t.entries++
			t.bytes += it.size
		}
	}
	t.bytes += size
	return t
}

func (m *model) expire() {
	for _, it := range slices.Clone(m.kept) {
		if m.now().Sub(it.read) >= m.opts.TTL {
			m.drop(it, Expired)
		}
	}
}

func (m *model) worst(agent string) *item {
	var worst *item
	var most float64
	for _, it := range m.kept {
		w := float64(m.now().Sub(it.read).Microseconds()+1) * float64(it.size+1)
		if (agent == "" || it.agent == agent) && w > most {
			worst, most = it, w
		}
	}
	return worst
}

func (m *model) find(agent string, id ID) *item {
	m.expire()
	for _, it := range m.kept {
		if it.agent == agent && it.id == id {
			return it
		}
	}
	return nil
}

func (m *model) touch(it *item) {
	it.read = m.now()
	u, ok := m.used[it.agent]
	if !ok {
		m.n++
		u.since = m.n
	}
	u.at = it.read
	m.used[it.agent] = u
}

func (m *model) put(agent string, id ID, data string, size int64) {
	it := m.find(agent, id)
	if it == nil {
		for {
			t := m.bytes(agent, size)
			if t.entries == 0 || t.entries < m.opts.MaxEntriesPerAgent && t.bytes <= m.opts.MaxBytesPerAgent {
				break
			}
			m.drop(m.worst(agent), Evicted)
		}
		for m.bytes("", size).bytes > m.opts.MaxBytes {
			m.drop(m.worst(""), Evicted)
		}
		if _, ok := m.used[agent]; !ok && len(m.used) >= m.opts.MaxAgents {
			idlest := ""
			for a, u := range m.used {
				if v := m.used[idlest]; idlest == "" || u.at.Before(v.at) || u.at.Equal(v.at) && u.since < v.since {
					idlest = a
				}
			}
			for _, it := range slices.Clone(m.kept) {
				if it.agent == idlest {
					m.drop(it, Evicted)
				}
			}
		}
		it = &item{agent: agent, id: id, data: data, size: size}
		m.kept = append(m.kept, it)
		delete(m.gone[agent], id)
		delete(m.forgotten, id)
	}
	m.touch(it)
	it.kept = it.read
}

func (m *model) answer(agent string, id ID) string {
	if it := m.find(agent, id); it != nil {
		m.touch(it)
		return it.data
	}
	if why, ok := m.gone[agent][id]; ok {
		return string(why)
	}
	return "unknown"
}

func (m *model) forget(agent string) {
	m.expire()
	for _, it := range slices.Clone(m.kept) {
		if it.agent == agent {
			m.drop(it, Evicted)
		}
	}
	for id := range m.gone[agent] {
		m.gone[agent][id], m.forgotten[id] = Evicted, true // the tombstone went
	}
}

var modelAgents = []string{"a", "b", "c", "d"}

// A target is what is held against the model: stores that keep the same entries, of which any
// may be asked.
type target struct {
	world  *world
	stores []*Store
	close  []func()
	ids    map[ID]ID // of what the model calls so
}

func (g *target) open(rt *rapid.T, opts Options) (*Store, func()) {
	opts.now = g.world.now
	done := func() {}
	switch g.world.form {
	case "folder":
		opts.Dir.Path = g.world.path
	case "redis":
		f, err := fleet.Open(fleet.Options{URL: g.world.server.URL, Name: g.world.fleet})
		if err != nil {
			rt.Fatal(err)
		}
		opts.Fleet, done = f, f.Close
	}
	s, err := New(opts)
	if err != nil {
		rt.Fatal(err)
	}
	if x, ok := s.index.(*shared); ok {
		x.fresh, x.steps = 0, rapid.IntRange(1, 8).Draw(rt, "steps")
	}
	return s, func() { s.Close(); done() }
}

// Whatever agents do, and whichever replica they ask, every id ever handed out answers as the
// model says, and nobody else's does.
func modelProperty(rt *rapid.T, worlds []*world) {
	opts := Options{
		MaxEntriesPerAgent: rapid.IntRange(1, 4).Draw(rt, "entries"),
		MaxBytesPerAgent:   rapid.Int64Range(40, 200).Draw(rt, "bytes"),
		MaxBytes:           rapid.Int64Range(40, 400).Draw(rt, "ceiling"),
		MaxAgents:          rapid.IntRange(1, 4).Draw(rt, "agents"),
		TTL:                time.Minute,
		MaxTombstones:      1 << 20,
		DerivedBytes:       rapid.Int64Range(1, 100).Draw(rt, "derived"),
		// Tombstones of one agent are bounded, and a dropped one turns expired
		// into evicted; TestTombstonesAreBounded sees to that.
		tombstones: 1 << 20,
	}
	var targets []*target
	m := &model{opts: opts, now: worlds[0].now, gone: map[string]map[ID]Reason{}, forgotten: map[ID]bool{}, used: map[string]used{}}
	for _, w := range worlds {
		g := &target{world: w, ids: map[ID]ID{"a/nothing": "aaaaaaaaaaaaaaaa"}}
		for range map[string]int{"memory": 1, "folder": 1, "redis": 2}[w.form] {
			s, done := g.open(rt, opts)
			g.stores, g.close = append(g.stores, s), append(g.close, done)
		}
		defer func() {
			for _, done := range g.close {
				done()
			}
		}()
		targets = append(targets, g)
	}
	issued := []item{{agent: "a", id: "a/nothing"}}
	for _, a := range modelAgents {
		m.gone[a] = map[ID]Reason{}
	}
	agent := rapid.SampledFrom(modelAgents)
	sleep := func(d time.Duration) {
		for _, w := range worlds {
			w.sleep(d)
		}
	}
	// each has every target do something, at one of its stores.
	each := func(rt *rapid.T, do func(g *target, s *Store)) {
		for _, g := range targets {
			do(g, g.stores[rapid.IntRange(0, len(g.stores)-1).Draw(rt, g.world.form)])
		}
	}
	ask := func(rt *rapid.T, agent string, it item) {
		want := m.answer(agent, it.id)
		each(rt, func(g *target, s *Store) {
			if got := answer(s, agent, g.ids[it.id]); got != want {
				rt.Fatalf("%s: agent %s, id of %s: %q, want %q", g.world.form, agent, it.agent, got, want)
			}
		})
	}
	rt.Repeat(map[string]func(*rapid.T){
		"put": func(rt *rapid.T) {
			a, n := agent.Draw(rt, "agent"), rapid.SampledFrom([]int{0, 1, 2, 20, 21, 30, 60}).Draw(rt, "size")
			data := fmt.Sprintf("%0*d", n, rapid.IntRange(0, 2).Draw(rt, "text"))
			size, name := int64(len(data)+1), ID(a+"/"+data)
			large := size > opts.largest()
			each(rt, func(g *target, s *Store) {
				id, err := s.Put(a, Origin{Tool: "t"}, []byte(data))
				if was := g.ids[name]; (err != nil) != large || !large && was != "" && was != id {
					rt.Fatalf("%s: %d bytes: %s, %v, was %s", g.world.form, size, id, err, was)
				}
				if !large {
					g.ids[name] = id
				}
			})
			if !large {
				m.put(a, name, data, size)
				issued = append(issued, item{agent: a, id: name})
			}
		},
		"get": func(rt *rapid.T) {
			it := rapid.SampledFrom(issued).Draw(rt, "id")
			ask(rt, agent.Draw(rt, "agent"), it)
		},
		"derived": func(rt *rapid.T) {
			it := rapid.SampledFrom(issued).Draw(rt, "id")
			want := m.answer(it.agent, it.id)
			each(rt, func(g *target, s *Store) {
				v, err := s.Derived(it.agent, g.ids[it.id], "k", func() (any, int64, error) { return "built from " + want, 20, nil })
				if err == nil && v != "built from "+want || err != nil && want != answer(s, it.agent, g.ids[it.id]) {
					rt.Fatalf("%s: %v, %v, want %q", g.world.form, v, err, want)
				}
			})
		},
		"forget": func(rt *rapid.T) {
			a := agent.Draw(rt, "agent")
			each(rt, func(_ *target, s *Store) { s.Forget(a) })
			m.forget(a)
		},
		"wait": func(rt *rapid.T) {
			d := time.Duration(rapid.SampledFrom([]int{1, 20, 30, 40}).Draw(rt, "seconds")) * time.Second
			sleep(d)
		},
		"restart": func(rt *rapid.T) {
			for _, g := range targets {
				if g.world.form != "redis" {
					continue
				}
				n := rapid.IntRange(0, 1).Draw(rt, "replica")
				g.close[n]()
				s, done := g.open(rt, opts)
				g.stores[n], g.close[n] = s, done
			}
		},
		"crowd": func(rt *rapid.T) { // others' results take the place of copies
			each(rt, func(g *target, s *Store) {
				if x, ok := s.index.(*shared); ok {
					x.near.fit(0)
				}
			})
		},
		"sweep": func(rt *rapid.T) {
			m.expire()
			want := m.bytes("", 0)
			each(rt, func(g *target, s *Store) {
				s.index.sweep()
				got := totals(s)
				if got.tombstones = 0; got != (total{agents: len(m.used), entries: want.entries, bytes: want.bytes}) {
					rt.Fatalf("%s: %+v, want %+v of %d agents", g.world.form, got, want, len(m.used))
				}
			})
		},
		"": func(rt *rapid.T) {
			// No two agents are idle for the same time: of those, the one goes that came first,
			// which an expired entry decides that only the model has dropped. TestVictims has such.
			sleep(time.Microsecond)
			m.expire()
			var listed []string
			for _, it := range m.kept {
				listed = append(listed, fmt.Sprint(it.agent, len(it.data), it.kept.UnixMicro(), it.read.Add(opts.TTL).UnixMicro()))
			}
			slices.Sort(listed)
			each(rt, func(g *target, s *Store) {
				list, all := s.List(100)
				var has []string
				for _, e := range list {
					has = append(has, fmt.Sprint(e.Agent, e.Bytes, e.Kept.UnixMicro(), e.Ends.UnixMicro()))
				}
				slices.Sort(has)
				if all != len(listed) || !slices.Equal(has, listed) {
					rt.Fatalf("%s lists %d: %v, want %v", g.world.form, all, has, listed)
				}
			})
		},
	})
	for _, it := range issued {
		want := m.answer(it.agent, it.id)
		for _, g := range targets {
			for n, s := range g.stores {
				got := answer(s, it.agent, g.ids[it.id])
				var gone *GoneError
				_, err := s.Get(it.agent, g.ids[it.id])
				known := errors.As(err, &gone) && gone.Origin.Tool != ""
				if got != want || known != (m.gone[it.agent][it.id] != "" && !m.forgotten[it.id]) {
					rt.Fatalf("at the end: %s of %s at %s %d: %q, want %q; its call is known: %t", it.id, it.agent, g.world.form, n, got, want, known)
				}
			}
		}
	}
}

// TestModel holds all forms against the model, and so against each other.
func TestModel(t *testing.T) {
	server := fleettest.Start(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		var worlds []*world
		for _, form := range []string{"memory", "folder", "redis"} {
			w := newWorld(t, form, server)
			w.fleet = fmt.Sprint("model-", n)
			if len(worlds) > 0 {
				w.time = worlds[0].time
			}
			worlds = append(worlds, w)
		}
		modelProperty(rt, worlds)
	})
}

// FuzzModel does so in memory alone, in less time.
func FuzzModel(f *testing.F) {
	f.Fuzz(func(t *testing.T, seed []byte) {
		rapid.MakeFuzz(func(rt *rapid.T) { modelProperty(rt, []*world{newWorld(t, "memory", nil)}) })(t, seed)
	})
}
