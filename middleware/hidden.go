package middleware

import (
	"fmt"
	"path"

	"rlmproxy/middleware/rights"
)

// A HiddenTool is one that a server offers and that is not in a list of tools.
type HiddenTool struct {
	Server string `json:"server"`
	Tool   string `json:"tool"` // its name at the server
	Why    string `json:"why"`
	// Found says that agents find it by proxy_find_tools.
	Found bool `json:"found"`
}

// HiddenTools are those that are not in the list which a client over a pipe gets that says
// this name, with the setting that keeps each out.
func (s *Server) HiddenTools(client string) (all []HiddenTool, err error) {
	v := s.viewFor(rights.Who{})
	l, err := s.listing()
	if err != nil {
		return nil, err
	}
	e := s.exposure(client, v, l)
	for _, up := range s.upstreams() {
		list := up.Conn.Tools()
		verdict := up.verdict(list)
		for _, t := range list {
			why, found := up.hides(t.Name, readsOnly(t)), false
			if held, is := verdict.Held(t.Name); why == "" && is {
				why = "held back: it " + held
			}
			switch {
			case why != "":
			case !v.tool(up, t.Name):
				why = "agents: this agent may not use it"
			case !e.all(up):
				why, found = "exposure: proxy_find_tools finds it", true
			default:
				continue
			}
			all = append(all, HiddenTool{up.Name, t.Name, why, found})
		}
		if left := up.leftOut(); left.N > 0 {
			for _, name := range left.Names {
				all = append(all, HiddenTool{up.Name, name, "left out: " + left.Why, false})
			}
			if more := left.N - len(left.Names); more > 0 {
				all = append(all, HiddenTool{up.Name, fmt.Sprintf("%d more", more), "left out: " + left.Why, false})
			}
		}
	}
	return all, nil
}

// hides says which setting of the server keeps a tool from all agents, or "".
func (u *Upstream) hides(tool string, readsOnly bool) string {
	for _, glob := range u.Deny {
		if ok, _ := path.Match(glob, tool); ok {
			return fmt.Sprintf("deny has %q", glob)
		}
	}
	switch {
	case !u.offers(tool):
		return "allow does not have it"
	case !u.has("tools"):
		return "features does not have tools"
	case u.ReadOnly && !readsOnly:
		return "readOnly: it does not declare readOnlyHint"
	}
	return ""
}
