package judge

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"rlmproxy/pipeline/show"
)

// A purse is what a question may still take. Before a prompt its tokens are put aside as estimated,
// with the longest answer; after it, what was not used comes back.
type purse struct {
	question Budget
	agent    string
	hourly   *hourly

	mu            sync.Mutex // guards the fields below
	settled       *sync.Cond
	tokens, calls int // taken, and put aside
	open          int // calls that are not settled
}

func newPurse(question Budget, agent string, hourly *hourly) *purse {
	p := &purse{question: question, agent: agent, hourly: hourly}
	p.settled = sync.NewCond(&p.mu)
	return p
}

// spent says that a budget is.
type spent struct {
	why  string
	less bool // for fewer tokens there may be enough
}

func (s *spent) Error() string { return s.why }

// take puts the tokens of a call aside. It waits for what other calls of the question give back.
// The error is [*spent].
func (p *purse) take(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	why := p.try(n)
	for why != nil && why.less && p.open > 0 {
		p.settled.Wait()
		why = p.try(n)
	}
	if why != nil {
		return why
	}
	p.tokens += n
	p.calls++
	p.open++
	return nil
}

// try takes n from the hour, if the question has it. p.mu must be held.
func (p *purse) try(n int) *spent {
	if most := p.question.Calls; most > 0 && p.calls >= most {
		return &spent{why: fmt.Sprintf("the %s of the model that one question may make are spent", show.Plural(most, "calls"))}
	}
	if most := p.question.Tokens; most > 0 && p.tokens+n > most {
		return &spent{fmt.Sprintf("of the %s that one question may take, %s are left, too few for the next prompt", show.Plural(most, "tokens"), show.Count(max(0, most-p.tokens))), true}
	}
	return p.hourly.take(p.agent, n)
}

// settle says that a call for which n were put aside took these.
func (p *purse) settle(n, took int) {
	p.mu.Lock()
	p.tokens += took - n
	p.open--
	p.settled.Broadcast()
	p.mu.Unlock()
	p.hourly.settle(p.agent, took-n)
}

// step is how exactly an hour is measured.
const step = 5 * time.Minute

// hourly is what each agent took in the last hour, here and with a fleet on all replicas. While the
// store of the fleet is away, what it took here counts.
type hourly struct {
	most  Budget
	fleet *fleetHour // nil: there are no other replicas

	mu     sync.Mutex // guards the fields below
	agents map[string]*[time.Hour / step]took
}

// took is what an agent took in one step of time since the epoch.
type took struct {
	at            int64
	tokens, calls int
}

// maxAgents is how many agents are known before those are forgotten that took nothing for an hour.
const maxAgents = 1000

// of returns what an agent took in the last hour, when the first of that will be an hour ago, and
// where to add to it. h.mu must be held.
func (h *hourly) of(agent string) (sum took, frees time.Duration, now *took) {
	at := time.Now().UnixNano() / int64(step)
	if h.agents == nil {
		h.agents = map[string]*[time.Hour / step]took{}
	}
	all := h.agents[agent]
	if all == nil {
		if len(h.agents) >= maxAgents {
			maps.DeleteFunc(h.agents, func(_ string, all *[time.Hour / step]took) bool {
				for _, one := range all {
					if at-one.at < int64(len(all)) {
						return false
					}
				}
				return true
			})
		}
		all = new([time.Hour / step]took)
		h.agents[agent] = all
	}
	first := at
	for _, one := range all {
		if at-one.at < int64(len(all)) {
			sum.tokens += one.tokens
			sum.calls += one.calls
			first = min(first, one.at)
		}
	}
	now = &all[at%int64(len(all))]
	if now.at != at {
		*now = took{at: at}
	}
	frees = time.Until(time.Unix(0, (first+int64(len(all)))*int64(step)))
	return sum, frees, now
}

func (h *hourly) take(agent string, n int) *spent {
	if h.most.Tokens == 0 && h.most.Calls == 0 {
		return nil
	}
	counted := false
	if h.fleet != nil {
		var why *spent
		if why, counted = h.fleet.take(agent, n, h.most); why != nil {
			return why
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	sum, frees, now := h.of(agent)
	kind := 0
	switch {
	case counted: // this is for when the store is away
	case h.most.Calls > 0 && sum.calls >= h.most.Calls:
		kind = 1
	case h.most.Tokens > 0 && sum.tokens+n > h.most.Tokens:
		kind = 2
	}
	if kind > 0 {
		return spentOf(kind, h.most, frees)
	}
	now.tokens += n
	now.calls++
	return nil
}

// spentOf says that the calls (1) or tokens (2) of an hour are spent; 0 is neither.
func spentOf(kind int, most Budget, frees time.Duration) *spent {
	what := ""
	switch kind {
	case 1:
		what = show.Plural(most.Calls, "calls")
	case 2:
		what = show.Plural(most.Tokens, "tokens")
	default:
		return nil
	}
	return &spent{fmt.Sprintf("the %s that this agent has of the model in an hour are spent: there are more in %d minutes", what, int(frees.Minutes())+1), kind == 2}
}

func (h *hourly) settle(agent string, n int) {
	if h.most.Tokens == 0 && h.most.Calls == 0 {
		return
	}
	if h.fleet != nil {
		h.fleet.settle(agent, n)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _, now := h.of(agent)
	now.tokens += n
}
