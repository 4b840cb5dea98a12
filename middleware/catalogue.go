package middleware

import (
	"encoding/json"
	"fmt"
	"slices"

	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
)

// A Catalogue is what a server adds to the list of tools that agents get.
type Catalogue struct {
	Tools []Offered
	Held  []string // exposed names of tools that are held back
	// Review is the command that shows these, "" without pins.
	Review  string
	LeftOut upstream.LeftOut
}

// An Offered is a tool as agents get it.
type Offered struct {
	Tool, Name string // its own name, and the one for agents
	Definition json.RawMessage
	// Why its name for agents ends in a hash, "" if it does not, or if another prefix would
	// not help. TooLong says that this is for its length.
	Why     string
	TooLong bool
}

// Catalogue is that of a server, for its operator.
func (s *Server) Catalogue(server string) (c Catalogue, err error) {
	up := s.upstream(server)
	if up == nil {
		return c, nil
	}
	for _, t := range s.names.all() {
		if t.up != up {
			continue
		}
		o := Offered{Tool: t.tool.Name, Name: t.exposed}
		o.Why, o.TooLong = s.names.why(t)
		if o.Definition, err = s.definition(t); err != nil {
			return c, err
		}
		c.Tools = append(c.Tools, o)
	}
	for _, list := range s.heldNames(s.everything()) {
		if list.up == up {
			c.Held = list.tools
		}
	}
	if up.Pins != nil {
		c.Review = up.Pins.Review()
	}
	c.LeftOut = up.leftOut()
	return c, nil
}

// why says why a tool does not have its bare name, as [Offered] has it.
func (n *names) why(t target) (why string, tooLong bool) {
	bare := bareName(t.up.Prefix, t.tool.Name)
	if t.exposed == bare {
		return "", false
	}
	if len(bare) > maxName {
		return fmt.Sprintf("%s has %d characters; %d are allowed", bare[:maxName], len(bare), maxName), true
	}
	switch owner, _ := n.ownerOf(bare); {
	case slices.Contains(tools.Reserved(), bare):
		return bare + " is a tool of the proxy", false
	case owner == nil:
		return bare + " also fits the prefix of another server", false
	case owner == t.up: // for a letter that names do not have
		return "", false
	default:
		return fmt.Sprintf("server %q has a tool %s, too", owner.Name, bare), false
	}
}
