package cache

import "container/list"

// What a tombstone keeps of its origin. Larger arguments are data themselves:
// an agent that sent them has them, and 10,000 tombstones stay under 25 MB.
const (
	maxKeptArguments = 2 << 10
	maxKeptTool      = 256
)

// tombstones remember entries that are gone, so that their ids can say what
// they were. They drop the oldest, of an agent and of all. They have no lock.
type tombstones struct {
	perAgent, total int // bounds
	byID            map[tombstoneKey]*tombstone
	order           *list.List              // of *tombstone, oldest first
	agents          map[agentKey]*list.List // the same for each agent
	// forgotten, if not nil, hears of each that is dropped for good.
	forgotten func(agentKey, ID)
}

type tombstoneKey struct {
	agent agentKey
	id    ID
}

type tombstone struct {
	tombstoneKey
	reason Reason
	origin Origin

	inAll, inAgent *list.Element
}

func newTombstones(perAgent, total int) tombstones {
	return tombstones{
		perAgent: perAgent,
		total:    total,
		byID:     make(map[tombstoneKey]*tombstone),
		order:    list.New(),
		agents:   make(map[agentKey]*list.List),
	}
}

// get returns nil when there is none.
func (ts *tombstones) get(agent agentKey, id ID) *tombstone {
	return ts.byID[tombstoneKey{agent, id}]
}

// add remembers an entry that is gone, the newest, in place of one for the same id.
func (ts *tombstones) add(agent agentKey, id ID, reason Reason, origin Origin) {
	ts.remove(agent, id)
	t := &tombstone{tombstoneKey: tombstoneKey{agent, id}, reason: reason, origin: origin.remembered()}
	own := ts.agents[agent]
	if own == nil {
		own = list.New()
		ts.agents[agent] = own
	}
	t.inAll, t.inAgent = ts.order.PushBack(t), own.PushBack(t)
	ts.byID[t.tombstoneKey] = t
	if own.Len() > ts.perAgent {
		ts.lose(own.Front().Value.(*tombstone))
	}
	if ts.order.Len() > ts.total {
		ts.lose(ts.order.Front().Value.(*tombstone))
	}
}

// remembered is what a tombstone keeps of an origin.
func (o Origin) remembered() Origin {
	if len(o.Arguments) > maxKeptArguments {
		o.Arguments = nil
	}
	if len(o.Tool) > maxKeptTool || len(o.Server) > maxKeptTool {
		o = Origin{}
	}
	return o
}

// remove does nothing when there is none.
func (ts *tombstones) remove(agent agentKey, id ID) {
	if t := ts.get(agent, id); t != nil {
		ts.drop(t)
	}
}

// forget drops all of an agent's tombstones.
func (ts *tombstones) forget(agent agentKey) {
	for own := ts.agents[agent]; own != nil && own.Len() > 0; {
		ts.lose(own.Front().Value.(*tombstone))
	}
}

// lose drops one that nothing takes the place of.
func (ts *tombstones) lose(t *tombstone) {
	ts.drop(t)
	if ts.forgotten != nil {
		ts.forgotten(t.agent, t.id)
	}
}

func (ts *tombstones) drop(t *tombstone) {
	delete(ts.byID, t.tombstoneKey)
	ts.order.Remove(t.inAll)
	own := ts.agents[t.agent]
	own.Remove(t.inAgent)
	if own.Len() == 0 {
		delete(ts.agents, t.agent)
	}
}

func (ts *tombstones) check(assert func(ok bool, format string, args ...any)) {
	n := 0
	for key, own := range ts.agents {
		assert(own.Len() > 0 && own.Len() <= ts.perAgent, "%s: %d tombstones", key, own.Len())
		n += own.Len()
	}
	assert(n == len(ts.byID) && n == ts.order.Len(), "%d tombstones, listed %d and %d", n, len(ts.byID), ts.order.Len())
	assert(n <= ts.total, "%d tombstones exceed the limit", n)
}
