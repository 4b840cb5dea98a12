package middleware

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/toolbox"
	"rlmproxy/middleware/upstream"
)

// A serverSet is the servers that there are at one time. It does not change.
type serverSet struct {
	list    []*Upstream       // in the order of the configuration
	tooled  []*Upstream       // these, and what stands for the tools made at run time
	schemes map[string]string // of URIs, by server
}

// newServerSet makes a set. Made, if not nil, stands for the tools made at run time: as a last
// server, of which there is nothing but tools.
func newServerSet(list []*Upstream, made *Upstream) *serverSet {
	tooled := list
	if made != nil {
		tooled = append(slices.Clip(list), made)
	}
	return &serverSet{list, tooled, schemes(list)}
}

// named returns the server of this name, or nil.
func (set *serverSet) named(name string) *Upstream {
	for _, up := range set.tooled {
		if up.Name == name {
			return up
		}
	}
	return nil
}

// upstreams are the servers that there are now, in the order of the configuration.
func (s *Server) upstreams() []*Upstream { return s.servers.Load().list }

// upstream returns the server of this name, or nil.
func (s *Server) upstream(name string) *Upstream { return s.servers.Load().named(name) }

// only is the only server there is, or nil.
func (s *Server) only() *Upstream {
	if list := s.upstreams(); len(list) == 1 {
		return list[0]
	}
	return nil
}

// withID returns the server with the connection of this [Upstream.ID], retired or not, or nil.
func (s *Server) withID(id string) *Upstream {
	up, _ := s.byID.Load(id)
	found, _ := up.(*Upstream)
	return found
}

// relayServer is where u's requests go, nil of none.
func (u *Upstream) relayServer() *relay.Server {
	if u == nil {
		return nil
	}
	return u.server
}

// checkAll is [Upstream.Check] of all, and that no two have one name.
func (o *Options) checkAll(ups []Upstream) error {
	names := map[string]bool{toolbox.Name: o.Made != nil}
	for i := range ups {
		if err := ups[i].Check(); err != nil {
			return err
		}
		if names[ups[i].Name] {
			return fmt.Errorf("two servers are called %q", ups[i].Name)
		}
		names[ups[i].Name] = true
	}
	return nil
}

// adopt makes a set of ups. What goes on with a connection of old keeps all that belongs to
// it.
func (s *Server) adopt(ups []Upstream, old *serverSet) *serverSet {
	list := make([]*Upstream, len(ups))
	for i, up := range ups {
		up.ID = cmp.Or(up.ID, up.Name)
		hide := s.hider(&up, up.allHidden(), "")
		if at := slices.IndexFunc(old.list, func(was *Upstream) bool { return was.Name == up.Name && was.Conn == up.Conn }); at >= 0 {
			up.server = old.list[at].server
			up.server.SetPolicy(hide, up.MaxAgents)
		} else {
			up.server = s.relay.NewServer(up.Name, up.Conn, hide, up.PerAgent, up.MaxAgents)
		}
		up.server.SetRemote(up.Remote)
		list[i] = &up
		s.byID.Store(up.ID, &up)
	}
	return newServerSet(list, s.madeTools(list))
}

// SetUpstreams replaces the servers. One that has the name and the Conn of one that is there
// goes on as it is, with its policy from now on. Requests that run at the others end there,
// then [Options.Retired] gets their Conn; new ones go to who is there now. Clients are told
// of the lists that are not what they were: of a server that has not said yet what it has,
// when it has, or cannot be reached. The error is that of [Upstream.Check]; then nothing has
// changed.
func (s *Server) SetUpstreams(ups []Upstream) error {
	if err := s.opts.checkAll(ups); err != nil {
		return err
	}
	s.setting.Lock()
	defer s.setting.Unlock()
	if s.life.Err() != nil {
		return errors.New("the proxy is closing")
	}
	old := s.servers.Load()
	before := s.outlook()
	set := s.adopt(ups, old)
	s.servers.Store(set)
	s.changes.replace(old, set)
	after := s.outlook()
	for _, was := range old.list {
		up := set.named(was.Name)
		if up.relayServer() == was.server {
			continue
		}
		s.retiring.Go(func() {
			s.relay.Retire(s.life, was.server)
			s.byID.CompareAndDelete(was.ID, was)
			if s.opts.Retired != nil {
				s.opts.Retired(was.Conn)
			}
		})
		if up != nil && !up.listed() {
			after[up.Name] = before[up.Name] // until more is known
			s.retiring.Go(func() {
				up.Conn.Settled(s.life)
				if state, _ := up.Conn.State(); state != upstream.Ready && s.life.Err() == nil {
					s.announceDifference(before[up.Name], s.outlook()[up.Name])
				}
			})
		}
	}
	for _, up := range set.list {
		s.unmatched.tell(up, s.logger)
	}
	for name := range maps.Keys(before) {
		s.announceDifference(before[name], after[name])
	}
	for name := range maps.Keys(after) {
		if _, was := before[name]; !was {
			s.announceDifference(outlook{}, after[name])
		}
	}
	return nil
}

// An outlook is what clients see of a server.
type outlook struct {
	lists   map[session.List]string // what stands in each
	clients []*session.Session      // who see it
}

// outlook is that of all servers, by name.
func (s *Server) outlook() map[string]outlook {
	all := map[string]outlook{}
	for _, up := range s.upstreams() {
		o := outlook{lists: map[session.List]string{}}
		if up.listed() && (len(up.Fresh) > 0 || up.TrustHints) { // proxy_* can call its tools
			o.lists[session.Tools] = fmt.Sprintln(up.Fresh, up.TrustHints)
		}
		if up.hasResources() {
			o.lists[session.Resources] = up.ID + " " + s.exposedURI(up, "")
		}
		o.clients = slices.DeleteFunc(s.clients.Of(""), func(c *session.Session) bool { return !s.viewFor(c.Who()).server(up) })
		all[up.Name] = o
	}
	for _, t := range s.names.all() {
		if definition, err := s.definition(t); err == nil && all[t.up.Name].lists != nil {
			all[t.up.Name].lists[session.Tools] += string(definition) + "\n"
		}
	}
	for _, p := range s.prompts(s.everything()) {
		if o := all[p.up.Name]; o.lists != nil {
			o.lists[session.Prompts] += p.exposed + string(p.raw) + "\n"
		}
	}
	return all
}

// announceDifference tells those who see a server, or saw it, which of its lists have changed.
func (s *Server) announceDifference(before, after outlook) {
	for _, list := range []session.List{session.Tools, session.Prompts, session.Resources} {
		if before.lists[list] != after.lists[list] {
			s.announceTo(changeDelay, list, before.clients)
			s.announceTo(changeDelay, list, after.clients)
		}
	}
}

// schemes names servers for URIs: letters, digits, "-" and ".", as RFC 3986 has
// it, in lower case, as clients may write them so. Names that come out alike get a
// hash of the server's own, which does not depend on their order.
func schemes(list []*Upstream) map[string]string {
	plain := func(up *Upstream) string {
		return "s-" + strings.ToLower(strings.ReplaceAll(clean(up.Name), "_", "."))
	}
	alike := map[string]int{}
	for _, up := range list {
		alike[plain(up)]++
	}
	given := map[string]string{}
	for _, up := range list {
		given[up.Name] = plain(up)
		if alike[plain(up)] > 1 {
			given[up.Name] += "-" + hashed(up.Name)
		}
	}
	return given
}

// scheme is what stands before the "+" in URIs of a server.
func (s *Server) scheme(up *Upstream) string { return s.servers.Load().schemes[up.Name] }
