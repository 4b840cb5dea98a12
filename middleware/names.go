package middleware

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
)

// maxName is the longest name that model APIs accept: ^[a-zA-Z0-9_-]{1,64}$.
const maxName = 64

// A target is a tool behind an exposed name.
type target struct {
	exposed string
	up      *Upstream
	tool    upstream.Tool
}

// names maps exposed names to tools. A name once given to a tool stays with it
// for the life of the process.
type names struct {
	ups []Upstream

	mu    sync.Mutex        // guards the fields below
	given map[string]string // server + "\x00" + tool → exposed name
	owner map[string]string // the reverse
}

func newNames(ups []Upstream) *names {
	n := &names{ups: ups, given: map[string]string{}, owner: map[string]string{}}
	for _, name := range tools.Names {
		n.owner[name] = "\x00"
	}
	return n
}

// all returns every tool that is offered now, in the order of servers and of
// their lists. Those that are held back are not, but nobody else gets their names.
func (n *names) all() []target {
	var targets []target
	for i := range n.ups {
		up := &n.ups[i]
		tools := up.Conn.Tools()
		// Names that need no change come first, so that "a.b" cannot take the
		// name of "a_b".
		for _, exact := range []bool{true, false} {
			for _, t := range tools {
				if up.offers(t.Name) && (t.Name == clean(t.Name)) == exact {
					n.name(up, t.Name)
				}
			}
		}
		verdict := up.verdict(tools)
		for _, t := range tools {
			if _, held := verdict.Held(t.Name); !held && up.offers(t.Name) {
				targets = append(targets, target{n.name(up, t.Name), up, t})
			}
		}
	}
	return targets
}

// find returns the tool behind an exposed name. It looks the name up and never
// splits it.
func (n *names) find(exposed string) (target, bool) {
	if t, ok := n.lookup(exposed); ok {
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
			return target{exposed, up, t}, true
		}
	}
	return target{}, false
}

// ownerOf returns the server and the tool that were given an exposed name, or nil.
func (n *names) ownerOf(exposed string) (*Upstream, string) {
	n.mu.Lock()
	server, tool, _ := strings.Cut(n.owner[exposed], "\x00")
	n.mu.Unlock()
	for i := range n.ups {
		if n.ups[i].Name == server {
			return &n.ups[i], tool
		}
	}
	return nil, ""
}

// name returns the tool's exposed name and decides it on first use.
func (n *names) name(up *Upstream, tool string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := up.Name + "\x00" + tool
	if name, ok := n.given[key]; ok {
		return name
	}
	name := clean(tool)
	if up.Prefix != "" {
		name = clean(up.Prefix) + "_" + name
	}
	if owner := n.owner[name]; owner != "" || len(name) > maxName || n.ambiguous(up, name) {
		suffix := "_" + hashed(key)
		name = name[:min(len(name), maxName-len(suffix))] + suffix
	}
	n.given[key] = name
	n.owner[name] = key
	return name
}

// hashed is short and the same in every run.
func hashed(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:4])
}

// ambiguous reports whether name could be a tool of another server: "git_hub_x"
// of a server git, beside a server git_hub. That one gets the hash whether or
// not the other server is up, so that names are the same in every run.
func (n *names) ambiguous(up *Upstream, name string) bool {
	for i := range n.ups {
		other := clean(n.ups[i].Prefix) + "_"
		if n.ups[i].Name != up.Name && len(other) > len(clean(up.Prefix))+1 && strings.HasPrefix(name, other) {
			return true
		}
	}
	return false
}

// clean replaces what model APIs refuse in names.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

// match reports whether one of the globs matches name. Globs were checked when
// the configuration was read.
func match(globs []string, name string) bool {
	for _, g := range globs {
		if ok, _ := path.Match(g, name); ok {
			return true
		}
	}
	return false
}

// InputSchema is that of the tool of an exposed name, or nil.
func (s *Server) InputSchema(name string) json.RawMessage {
	t, ok := s.names.find(name)
	if !ok {
		return nil
	}
	return json.RawMessage(gjson.GetBytes(t.tool.Raw, "inputSchema").Raw)
}
