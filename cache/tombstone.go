package cache

import "container/list"

// What a tombstone keeps of its origin. Larger arguments are data themselves:
// an agent that sent them has them, and 10,000 tombstones stay under 25 MB.
const (
	maxBuriedArguments = 2 << 10
	maxBuriedTool      = 256
)

// A graveyard remembers entries that are gone, so that their ids can say what
// they were. It drops the oldest, of an agent and of all. It has no lock.
type graveyard struct {
	perAgent, total int // bounds
	graves          map[graveKey]*grave
	order           *list.List              // of *grave, oldest first
	agents          map[agentKey]*list.List // the same for each agent
}

type graveKey struct {
	agent agentKey
	id    ID
}

type grave struct {
	graveKey
	reason Reason
	origin Origin

	inAll, inAgent *list.Element
}

func newGraveyard(perAgent, total int) graveyard {
	return graveyard{
		perAgent: perAgent,
		total:    total,
		graves:   make(map[graveKey]*grave),
		order:    list.New(),
		agents:   make(map[agentKey]*list.List),
	}
}

func (g *graveyard) len() int { return len(g.graves) }

// get returns nil when there is no such grave.
func (g *graveyard) get(agent agentKey, id ID) *grave {
	return g.graves[graveKey{agent, id}]
}

// bury adds a grave, the newest, in place of one for the same id.
func (g *graveyard) bury(agent agentKey, id ID, reason Reason, origin Origin) {
	g.remove(agent, id)
	if len(origin.Arguments) > maxBuriedArguments {
		origin.Arguments = nil
	}
	if len(origin.Tool) > maxBuriedTool {
		origin = Origin{}
	}
	gr := &grave{graveKey: graveKey{agent, id}, reason: reason, origin: origin}
	own := g.agents[agent]
	if own == nil {
		own = list.New()
		g.agents[agent] = own
	}
	gr.inAll, gr.inAgent = g.order.PushBack(gr), own.PushBack(gr)
	g.graves[gr.graveKey] = gr
	if own.Len() > g.perAgent {
		g.drop(own.Front().Value.(*grave))
	}
	if g.order.Len() > g.total {
		g.drop(g.order.Front().Value.(*grave))
	}
}

// remove does nothing when there is no such grave.
func (g *graveyard) remove(agent agentKey, id ID) {
	if gr := g.get(agent, id); gr != nil {
		g.drop(gr)
	}
}

// forget drops all of an agent's graves.
func (g *graveyard) forget(agent agentKey) {
	for own := g.agents[agent]; own != nil && own.Len() > 0; {
		g.drop(own.Front().Value.(*grave))
	}
}

func (g *graveyard) drop(gr *grave) {
	delete(g.graves, gr.graveKey)
	g.order.Remove(gr.inAll)
	own := g.agents[gr.agent]
	own.Remove(gr.inAgent)
	if own.Len() == 0 {
		delete(g.agents, gr.agent)
	}
}

func (g *graveyard) check(assert func(ok bool, format string, args ...any)) {
	n := 0
	for key, own := range g.agents {
		assert(own.Len() > 0 && own.Len() <= g.perAgent, "%s: %d graves", key, own.Len())
		n += own.Len()
	}
	assert(n == len(g.graves) && n == g.order.Len(), "%d graves, booked %d and %d", n, len(g.graves), g.order.Len())
	assert(n <= g.total, "%d graves exceed the limit", n)
}
