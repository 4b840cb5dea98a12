package middleware

import "strings"

// A serverSet is the servers that there are at one time. It does not change.
type serverSet struct {
	list    []*Upstream       // in the order of the configuration
	schemes map[string]string // of URIs, by server
}

func newServerSet(list []*Upstream) *serverSet { return &serverSet{list, schemes(list)} }

// named returns the server of this name, or nil.
func (set *serverSet) named(name string) *Upstream {
	for _, up := range set.list {
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
