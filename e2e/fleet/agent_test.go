package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"time"

	"rlmproxy/e2e/replicas"
)

const (
	// callTime bounds a call: no call hangs. Three seconds for a store that hangs, asked
	// twice, and the rest for a busy machine.
	callTime = 20 * time.Second
	// An id must answer while it is one of the newest of its agent, and was read or made a
	// short time ago. The quota is twice that, the expiry more than twice.
	newest, fresh = 10, 10 * time.Second
	cacheTTL      = 25 * time.Second
)

// A kept is an id that an agent was given.
type kept struct {
	agent string
	id    string
	args  callArgs
	used  time.Time
	alone bool // it was made while the store may have been away
}

// ids are those that all agents were given.
type ids struct {
	mu  sync.Mutex
	all []kept
}

func (s *ids) add(k kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, k)
}

// another returns an id of another agent, or "".
func (s *ids) another(agent string, r *rand.Rand) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 10 {
		if len(s.all) == 0 {
			break
		}
		// A young one: it is there.
		if k := s.all[len(s.all)-1-r.IntN(min(len(s.all), 50))]; k.agent != agent {
			return k.id
		}
	}
	return ""
}

// An agent calls tools and looks at what it was given, through a client of one kind. One
// goroutine uses it.
type agent struct {
	name, revision string
	client         client
	site           *site
	line           *timeline
	tally          *tally
	ids            *ids
	r              *rand.Rand

	calls    int
	kept     []*kept
	executed map[string]bool // calls of tools, and whether they were answered
	anew     int             // sessions begun after the first
}

// run makes calls until ctx ends. A call that was begun is finished.
func (a *agent) run(ctx context.Context) {
	for ctx.Err() == nil {
		a.step()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(100+a.r.IntN(400)) * time.Millisecond):
		}
	}
}

// step makes one call.
func (a *agent) step() {
	if a.client.ended() {
		a.begin("session begun anew")
		if a.client.ended() {
			return
		}
	}
	switch p := a.r.IntN(100); {
	case p < 16:
		a.tool("short")
	case p < 27:
		a.tool("slow")
	case p < 32:
		a.tool("ask")
	case p < 54:
		a.tool("long")
	case p < 60:
		if id := a.ids.another(a.name, a.r); id != "" {
			a.foreign("another's id", id)
		}
	case p < 63:
		a.foreign("made-up id", fmt.Sprintf("%016x", a.r.Uint64()))
	case len(a.kept) > 0:
		// The newest, as agents do, and now and then any.
		n := len(a.kept)
		k := a.kept[n-1-a.r.IntN(min(n, newest))]
		if p > 94 {
			k = a.kept[a.r.IntN(n)]
		}
		a.query(k)
	}
}

// do times a call and returns its name, what the balancer knows of it and what came.
func (a *agent) do(f func(ctx context.Context, name string) (answer, error)) (d done) {
	a.calls++
	name := fmt.Sprintf("%s-%d", a.name, a.calls)
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	d.begun = time.Now()
	d.answer, d.err = f(ctx, name)
	d.ended = time.Now()
	d.name, d.hops = name, a.site.Hops(name)
	d.timedOut = ctx.Err() != nil
	return d
}

// A done is a call that has ended.
type done struct {
	answer
	err          error
	name         string
	begun, ended time.Time
	hops         []replicas.Hop
	timedOut     bool
}

func (d done) String() string {
	var hops []string
	for _, h := range d.hops {
		hops = append(hops, fmt.Sprintf("%d.%d:%d %v", h.Replica, h.Start, h.Status, h.Err))
	}
	return fmt.Sprintf("%s at %s, %v, code %q, hops %q: %.400s %v", d.name, d.begun.Format("05.000"), d.ended.Sub(d.begun).Round(time.Millisecond), d.code, hops, d.text, d.err)
}

// begin begins a session.
func (a *agent) begin(kind string) {
	d := a.do(func(ctx context.Context, name string) (answer, error) { return answer{}, a.client.begin(ctx, name) })
	o := a.excuse(d)
	if o == answered && kind != "session begun" {
		a.anew++
	}
	a.count(kind, o, d)
}

func (a *agent) count(kind string, o outcome, d done) {
	took := d.ended.Sub(d.begun)
	a.tally.count(kind, o, took, d.String())
	if a.line.struck(d.hops) {
		a.tally.count("in flight at a kill", o, took, d.String())
	}
}

// excuse says what an error is of, or answered where there is none.
func (a *agent) excuse(d done) outcome {
	text := d.text
	if d.err != nil {
		text = d.err.Error()
	}
	var f *failure
	_ = errors.As(d.err, &f)
	switch {
	case d.err == nil && !d.isError:
		return answered
	case a.line.struck(d.hops):
		return struck
	case d.timedOut:
		return hangs
	case a.line.without(d.begun, d.ended) && (f != nil && f.status == 503 || storeGone.MatchString(text)):
		return storeAway
	}
	return unexcused
}

// storeGone is how the fleet says that its store is away; of 503 the SDK says no more than
// the name.
var storeGone = regexp.MustCompile(`shared store (is away|does not answer)|Service Unavailable`)

// own reports whether nothing in a text is another agent's.
func (a *agent) own(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "owner=")
		if !found {
			return true
		}
		if !strings.HasPrefix("owner="+rest, marker(a.name)) {
			return false
		}
		text = rest
	}
}

// tool calls a tool of a server.
func (a *agent) tool(tool string) {
	var args callArgs
	d := a.do(func(ctx context.Context, name string) (answer, error) {
		args = newArgs(a.name, name, a.revision)
		args.Pause = 1000
		return a.client.call(ctx, name, tool, args)
	})
	o := a.excuse(d)
	text := marker(a.name) + args.Call
	switch {
	case !a.own(d.text):
		o = crossed
	case o == answered && tool == "long":
		if d.id == "" || !strings.HasPrefix(d.text, "[cut: ") || !strings.Contains(d.text, word(args, 0)) {
			o = wrong
		}
	case o == answered && tool == "ask":
		if d.text != text+" "+saying(text) {
			o = wrong
		}
	case o == answered:
		if d.text != text {
			o = wrong
		}
	case tool == "ask" && (o == unexcused || o == hangs) && a.line.kills(d.begun, d.ended):
		o = needed // it waits at one replica, and is answered through another
	}
	if d.id != "" {
		k := &kept{agent: a.name, id: d.id, args: args, used: d.ended, alone: a.line.without(d.begun, d.ended)}
		a.kept = append(a.kept, k)
		a.ids.add(*k)
	}
	a.executed[args.Call] = o == answered
	a.count(tool, o, d)
}

// query asks about an id of the agent.
func (a *agent) query(k *kept) {
	q, row := queries[a.r.IntN(len(queries))], a.r.IntN(longRows)
	d := a.do(func(ctx context.Context, name string) (answer, error) {
		return a.client.call(ctx, name, q.tool, q.args(k.id, k.args, row))
	})
	a.count("own id", a.judge(k, d, q.want(k.args, row)), d)
}

// judge says what became of a query on an id of the agent, whose right answer has want.
func (a *agent) judge(k *kept, d done, want string) outcome {
	o := a.excuse(d)
	index := 0
	for i := range a.kept {
		if a.kept[i] == k {
			index = len(a.kept) - i
		}
	}
	due := index <= newest && d.begun.Sub(k.used) < fresh
	// What was made or read while the store was away may not be in it.
	alone := k.alone || a.line.without(k.used, d.ended)
	switch {
	case !a.own(d.text):
		return crossed
	case o == answered && !strings.Contains(d.text, want):
		return wrong
	case o == answered:
		k.used = d.ended
		return answered
	case d.code == "unknown_cache_id":
		return neither
	case d.code == "expired_cache_id" || d.code == "evicted_cache_id":
		o = map[string]outcome{"expired_cache_id": expired, "evicted_cache_id": evicted}[d.code]
		switch {
		case !due:
			return o
		case alone:
			return elsewhere
		}
		return lost
	}
	return o
}

// foreign asks about an id that is not the agent's.
func (a *agent) foreign(kind, id string) {
	d := a.do(func(ctx context.Context, name string) (answer, error) {
		return a.client.call(ctx, name, "proxy_filter", map[string]any{"cache_id": id, "jq": ".[0]"})
	})
	o := a.excuse(d)
	switch {
	case o == answered || !a.own(d.text):
		o = crossed
	case d.code == "unknown_cache_id" && d.text == unknownText:
		o = answered
	case d.code == "expired_cache_id" || d.code == "evicted_cache_id":
		o = crossed // it says that there was such a one
	}
	a.count(kind, o, d)
}

// unknownText is what becomes of any id that the agent was not given.
const unknownText = "unknown_cache_id: you have no result with this cache_id\nhint: copy the cache_id from a reply's first line, or repeat the call if it only reads"

// sweep asks about every id that the agent was given.
func (a *agent) sweep() {
	for range 20 {
		if !a.client.ended() {
			break
		}
		a.begin("session begun anew")
	}
	for _, k := range a.kept {
		d := a.do(func(ctx context.Context, name string) (answer, error) {
			return a.client.call(ctx, name, "proxy_filter", map[string]any{"cache_id": k.id, "format": "text", "whole": true})
		})
		o := a.judge(k, d, rows(k.args))
		if o == storeAway {
			o = unexcused // it is back
		}
		a.count("at the end, own id", o, d)
	}
}
