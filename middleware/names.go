package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/pin"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
)

// A target is a tool behind an exposed name.
type target struct {
	exposed string
	up      *Upstream
	tool    upstream.Tool
}

// names maps exposed names to tools.
//
// Every tool has a stable name, which ends in a hash of its server and itself, and always
// reaches it. It is offered under its bare name, prefix and own name, unless that is too
// long, ambiguous, or another tool's. Of two servers with tools of one bare name, the first
// in the configuration has it, whichever connected first: it takes it from the other when
// it comes. Apart from that, a name once given to a tool stays with it for the life of the
// process.
type names struct {
	servers *atomic.Pointer[serverSet]
	logger  *slog.Logger

	mu     sync.Mutex          // guards the fields below
	set    *serverSet          // for which names were given
	seen   map[string][]string // tools of each server, in the order in which they are named
	given  map[string]string   // server + "\x00" + tool → exposed name
	owner  map[string]string   // the reverse, with the stable names
	stable map[string]string   // server + "\x00" + tool → stable name
	told   map[string]bool     // server + "\x00" + tool of another that was logged to have lost its name to it
}

// ours stands for our own tools in names.owner.
const ours = "\x00"

// maxSeen bounds the tools of one server whose names are remembered though they are listed
// no more. Then they are forgotten, for a server may rename its tools without end.
const maxSeen = 20_000

func newNames(servers *atomic.Pointer[serverSet], logger *slog.Logger) *names {
	n := &names{servers: servers, logger: logger, seen: map[string][]string{}, told: map[string]bool{}}
	n.assign(servers.Load())
	return n
}

// all returns every tool that is offered now, in the order of servers and of
// their lists. Those that are held back are not, but nobody else gets their names.
func (n *names) all() []target {
	n.mu.Lock()
	defer n.mu.Unlock()
	set := n.servers.Load()
	lists := make([][]upstream.Tool, len(set.tooled))
	verdicts := make([]*pin.Verdict, len(set.tooled))
	news := set != n.set
	for i, up := range set.tooled {
		verdicts[i] = up.verdict(up.Conn.Tools())
		lists[i] = slices.DeleteFunc(slices.Clone(up.Conn.Tools()), func(t upstream.Tool) bool { return !up.shows(t) })
		news = n.see(up, lists[i]) || news
	}
	if news {
		n.assign(set)
	}
	var targets []target
	for i, up := range set.tooled {
		for _, t := range lists[i] {
			if _, held := verdicts[i].Held(t.Name); !held {
				targets = append(targets, target{n.given[keyOf(up, t.Name)], up, t})
			}
		}
	}
	return targets
}

// Names are what agents know the tools of servers by that say now what they have.
func Names(ups []Upstream) (names []string) {
	list := make([]*Upstream, len(ups))
	for i := range ups {
		list[i] = &ups[i]
	}
	var servers atomic.Pointer[serverSet]
	servers.Store(newServerSet(list, nil))
	for _, t := range newNames(&servers, slog.New(slog.DiscardHandler)).all() {
		names = append(names, t.exposed)
	}
	return names
}

// see notes the tools of a server, and reports whether there is one that has no name yet.
func (n *names) see(up *Upstream, tools []upstream.Tool) (news bool) {
	server := up.Name
	if len(n.seen[server]) > max(maxSeen, 2*len(tools)) {
		for _, tool := range n.seen[server] {
			delete(n.given, keyOf(up, tool))
		}
		n.seen[server] = nil
		clear(n.told)
	}
	// Names that need no change come first, so that "a.b" cannot take the name of "a_b".
	for _, exact := range []bool{true, false} {
		for _, t := range tools {
			if key := keyOf(up, t.Name); n.given[key] == "" && (t.Name == clean(t.Name)) == exact {
				n.given[key] = t.Name // until assign
				n.seen[server] = append(n.seen[server], t.Name)
				news = true
			}
		}
	}
	return news
}

// assign gives every tool of the servers of set that was seen its name. n.mu must be held.
func (n *names) assign(set *serverSet) {
	n.set = set
	for server := range n.seen {
		if set.named(server) == nil {
			delete(n.seen, server)
		}
	}
	n.given, n.owner = map[string]string{}, map[string]string{}
	for _, name := range tools.Reserved() {
		n.owner[name] = ours
	}
	stable := map[string]string{}
	n.stable = stable
	for _, up := range set.tooled {
		for _, tool := range n.seen[up.Name] {
			key := keyOf(up, tool)
			bare := bareName(up.Prefix, tool)
			for digits := 8; stable[key] == ""; digits *= 2 {
				suffix := "_" + hash(key, digits)
				name := bare[:min(len(bare), maxName-len(suffix))] + suffix
				if n.owner[name] == "" || digits == 32 {
					stable[key], n.owner[name] = name, key
				}
			}
		}
	}
	lost := map[[2]string][]string{} // tools without their bare name, by the server that has it and their own
	for _, up := range set.tooled {
		for _, tool := range n.seen[up.Name] {
			key, bare := keyOf(up, tool), bareName(up.Prefix, tool)
			first := n.owner[bare]
			if first == "" && len(bare) <= maxName && !ambiguous(set, up, bare) {
				n.given[key], n.owner[bare] = bare, key
				continue
			}
			n.given[key] = stable[key]
			server, _, _ := strings.Cut(first, "\x00")
			told := server + "\x00" + key
			if first != "" && first != ours && server != up.Name && !n.told[told] {
				n.told[told] = true
				lost[[2]string{server, up.Name}] = append(lost[[2]string{server, up.Name}], bare+" is now "+stable[key])
			}
		}
	}
	for servers, tools := range lost {
		n.logger.Warn(`two servers have tools of the same name: the first in the configuration keeps it; set a "prefix" to tell them apart`,
			"first", servers[0], "second", servers[1], "tools_of_second", someOf(tools))
	}
}

// name is the exposed name of a tool, held back or not, that was listed when all was
// called last.
func (n *names) name(up *Upstream, tool string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.given[keyOf(up, tool)]
}

// someOf are at most five of list.
func someOf(list []string) string {
	const most = 5
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// find returns the tool behind an exposed name. It looks the name up and never
// splits it.
func (n *names) find(exposed string) (target, bool) {
	if t, ok := n.lookup(exposed); ok && !n.rival(t, func(*Upstream) bool { return true }) {
		return t, true
	}
	n.all() // names whatever was listed since
	return n.lookup(exposed)
}

// lookup returns the tool that was given an exposed name, if it is offered now.
func (n *names) lookup(exposed string) (target, bool) {
	up, tool := n.ownerOf(exposed)
	if up == nil || !up.offers(tool) {
		return target{}, false
	}
	list := up.Conn.Tools()
	if _, held := up.verdict(list).Held(tool); held {
		return target{}, false
	}
	for _, t := range list {
		if t.Name == tool {
			return target{exposed, up, t}, up.shows(t)
		}
	}
	return target{}, false
}

// ownerOf returns the server and the tool that were given an exposed name, or nil.
func (n *names) ownerOf(exposed string) (*Upstream, string) {
	n.mu.Lock()
	server, tool, _ := strings.Cut(n.owner[exposed], "\x00")
	n.mu.Unlock()
	if up := n.servers.Load().named(server); up != nil {
		return up, tool
	}
	return nil, ""
}

// unsettled reports whether a server that is yet to say what it has may take the name of t.
func (n *names) unsettled(t target) bool {
	return n.rival(t, func(up *Upstream) bool {
		state, _ := up.Conn.State()
		return state == upstream.Connecting && up.Conn.Info() == nil
	})
}

// rival reports whether there is a server, one for which is holds, that may take the name
// of t: it comes before t's in the configuration, and has the same prefix.
func (n *names) rival(t target, is func(*Upstream) bool) bool {
	for _, up := range n.servers.Load().list {
		if up.Name == t.up.Name {
			break
		}
		if clean(up.Prefix) == clean(t.up.Prefix) && is(up) {
			return t.exposed == bareName(t.up.Prefix, t.tool.Name)
		}
	}
	return false
}

// ambiguous reports whether name could be a tool of another server: "git_hub_x"
// of a server git, beside a server git_hub. That one gets the hash whether or
// not the other server is up, so that names are the same in every run.
func ambiguous(set *serverSet, up *Upstream, name string) bool {
	for _, one := range set.list {
		other := clean(one.Prefix) + "_"
		if one.Name != up.Name && len(other) > len(clean(up.Prefix))+1 && strings.HasPrefix(name, other) {
			return true
		}
	}
	return false
}

// rightsName is what a tool is called where rights are looked up: as it is listed, and
// as it would be if no other tool had that name, or one took it.
func (n *names) rightsName(up *Upstream, tool string) rights.Name {
	key, bare := keyOf(up, tool), bareName(up.Prefix, tool)
	listed := n.name(up, tool)
	if listed == "" {
		n.all() // names whatever was listed since
		listed = n.name(up, tool)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return rights.Name{Listed: listed, Bare: bare, Stable: n.stable[key]}
}

// InputSchema is that of the tool of an exposed name that ctx's agent may use, or nil.
func (s *Server) InputSchema(ctx context.Context, name string) json.RawMessage {
	who, _ := rights.From(ctx)
	t, ok := s.names.find(name)
	if !ok || !s.viewFor(who).tool(t.up, t.tool.Name) {
		return nil
	}
	return json.RawMessage(gjson.GetBytes(t.tool.Raw, "inputSchema").Raw)
}
