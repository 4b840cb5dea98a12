package cache

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A model is the store without its machinery: a list of what is kept, and a
// map of what became of the rest. It expires at once and decides like the
// documentation says, by looking at everything.
type model struct {
	opts Options
	kept []*item // oldest first
	gone map[string]map[ID]Reason
	used map[string]used // of agents that keep something
	n    int
}

type item struct {
	agent string
	id    ID
	data  string
	size  int64
	read  time.Time
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
		if time.Since(it.read) >= m.opts.TTL {
			m.drop(it, Expired)
		}
	}
}

func (m *model) worst(agent string) *item {
	var worst *item
	var most float64
	for _, it := range m.kept {
		w := float64(time.Since(it.read).Microseconds()+1) * float64(it.size+1)
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
	it.read = time.Now()
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
	}
	m.touch(it)
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
		m.gone[agent][id] = Evicted // the tombstone went
	}
}

var modelAgents = []string{"a", "b", "c", "d"}

// Whatever agents do, every id ever handed out answers as the model says,
// and nobody else's does.
func modelProperty(rt *rapid.T) {
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
	s, err := New(opts)
	if err != nil {
		rt.Fatal(err)
	}
	defer s.Close()
	m := &model{opts: opts, gone: map[string]map[ID]Reason{}, used: map[string]used{}}
	issued := []item{{agent: "a", id: "aaaaaaaaaaaaaaaa"}}
	for _, a := range modelAgents {
		m.gone[a] = map[ID]Reason{}
	}
	agent := rapid.SampledFrom(modelAgents)
	rt.Repeat(map[string]func(*rapid.T){
		"put": func(rt *rapid.T) {
			a, n := agent.Draw(rt, "agent"), rapid.IntRange(0, 60).Draw(rt, "size")
			data := fmt.Sprintf("%0*d", n, rapid.IntRange(0, 2).Draw(rt, "text"))
			size := int64(len(data) + 1)
			id, err := s.Put(a, Origin{Tool: "t"}, []byte(data))
			if size > min(opts.MaxBytesPerAgent, opts.MaxBytes) {
				if err == nil {
					rt.Fatalf("%d bytes were kept", size)
				}
				return
			}
			if err != nil {
				rt.Fatal(err)
			}
			m.put(a, id, data, size)
			issued = append(issued, item{agent: a, id: id})
		},
		"get": func(rt *rapid.T) {
			it := rapid.SampledFrom(issued).Draw(rt, "id")
			a := agent.Draw(rt, "agent")
			if got, want := answer(s, a, it.id), m.answer(a, it.id); got != want {
				rt.Fatalf("agent %s, id of %s: %q, want %q", a, it.agent, got, want)
			}
		},
		"derived": func(rt *rapid.T) {
			it := rapid.SampledFrom(issued).Draw(rt, "id")
			want := m.answer(it.agent, it.id)
			v, err := s.Derived(it.agent, it.id, "k", func() (any, int64, error) { return "built from " + want, 20, nil })
			if err == nil && v != "built from "+want || err != nil && want != answer(s, it.agent, it.id) {
				rt.Fatalf("%v, %v, want %q", v, err, want)
			}
		},
		"forget": func(rt *rapid.T) {
			a := agent.Draw(rt, "agent")
			s.Forget(a)
			m.forget(a)
		},
		"wait": func(rt *rapid.T) {
			time.Sleep(time.Duration(rapid.IntRange(1, 40).Draw(rt, "seconds")) * time.Second)
		},
		"": func(rt *rapid.T) {
			m.expire()
			s.index.sweep()
			got, want := totals(s), m.bytes("", 0)
			if got.tombstones = 0; got != (total{agents: len(m.used), entries: want.entries, bytes: want.bytes}) {
				rt.Fatalf("%+v, want %+v of %d agents", got, want, len(m.used))
			}
		},
	})
	for _, it := range issued {
		if got, want := answer(s, it.agent, it.id), m.answer(it.agent, it.id); got != want {
			rt.Fatalf("at the end: %s of %s: %q, want %q", it.id, it.agent, got, want)
		}
	}
}

func TestModel(t *testing.T) {
	// Hiding the rest of t: rapid would ask for its deadline, which is an
	// error in a bubble.
	type bare struct{ rapid.TB }
	synctest.Test(t, func(t *testing.T) { rapid.Check(bare{t}, modelProperty) })
}

func FuzzModel(f *testing.F) {
	f.Fuzz(func(t *testing.T, seed []byte) {
		synctest.Test(t, func(t *testing.T) { rapid.MakeFuzz(modelProperty)(t, seed) })
	})
}
