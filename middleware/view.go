package middleware

import (
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/toolbox"
	"rlmproxy/middleware/upstream"
)

// A view is what one agent may see. What it may not is to it as if it were not there: it
// is left out of lists, and an error says and takes what it would for a name that nobody
// has.
//
// Rights are of tools. All else is a server's: prompts, resources, instructions, what it
// tells and asks. An agent sees that of the servers of which it may use a tool, and of a
// server without tools if it might use one whose name were the prefix alone, as docs_.
type view struct {
	s     *Server
	grant rights.Grant
}

// viewOf is what whoever made a request may see.
func (s *Server) viewOf(r *session.Request) view { return s.viewFor(r.Who) }

// everything is what the operator sees.
func (s *Server) everything() view { return view{s, (*rights.Rules)(nil).Of(rights.Who{})} }

func (s *Server) viewFor(who rights.Who) view { return view{s, s.rules.Load().Of(who)} }

// all reports whether nothing is kept from the agent.
func (v view) all() bool { return v.grant.Limitless() }

// tool reports whether the agent may use a tool of a server.
func (v view) tool(up *Upstream, tool string) bool {
	return v.all() || v.grant.Allows(v.s.names.rightsName(up, tool))
}

// server reports whether the agent sees what a server has beside its tools.
func (v view) server(up *Upstream) bool { return v.all() || v.serverWith(up, up.Conn.Tools()) }

// serverWith is server if these were its tools.
func (v view) serverWith(up *Upstream, list []upstream.Tool) bool {
	if v.all() {
		return true
	}
	some := false
	for _, t := range list {
		if !up.shows(t) {
			continue
		}
		if v.tool(up, t.Name) {
			return true
		}
		some = true
	}
	return !some && v.grant.Allows(rights.Name{Listed: bareName(up.Prefix, "")})
}

// maybe is server, or that the server is yet to say what it has: it is worth waiting for.
func (v view) maybe(up *Upstream) bool { return v.server(up) || !up.listed() }

// servers are those that the agent sees.
func (v view) servers() []*Upstream {
	var ups []*Upstream
	for _, up := range v.s.upstreams() {
		if v.server(up) {
			ups = append(ups, up)
		}
	}
	return ups
}

// tooled are servers, and what stands for the tools made at run time while there are any.
func (v view) tooled() []*Upstream {
	ups := v.servers()
	if made := v.s.upstream(toolbox.Name); v.s.box != nil && made != nil && len(made.Conn.Tools()) > 0 && v.server(made) {
		ups = append(ups, made)
	}
	return ups
}

// only is the only server there is if nothing of it is kept from the agent, or nil. What
// the proxy does not know passes through it, and may act as any tool does.
func (v view) only() *Upstream {
	if !v.all() {
		return nil
	}
	if up := v.s.only(); up != nil && !up.ReadOnly && up.Features == nil {
		return up
	}
	return nil
}

// maySee reports whether a client may hear of a server.
func (s *Server) maySee(c *session.Session, server string) bool {
	up := s.upstream(server)
	return up != nil && s.viewFor(c.Who()).server(up)
}

// SetRights changes what agents may use; nil lets all use everything. Clients for whom
// that makes a difference are told that their lists have changed.
func (s *Server) SetRights(rules *rights.Rules) {
	before := s.rules.Swap(rules)
	s.tellRights()
	for _, c := range s.clients.Of("") {
		if !before.Of(c.Who()).Equal(rules.Of(c.Who())) {
			for _, list := range []session.List{session.Tools, session.Prompts, session.Resources} {
				c.ListChanged(list)
			}
		}
	}
}
