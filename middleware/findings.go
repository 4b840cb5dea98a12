package middleware

import (
	"fmt"
	"strings"
	"sync"

	"rlmproxy/middleware/scan"
	"rlmproxy/pipeline/show"
)

// Findings are what a person should look at in what servers say of themselves: tools that
// are held back, and the oddities. Each is a line.
func (s *Server) Findings() []string {
	var all []string
	for _, list := range s.heldNames(s.everything()) {
		for _, exposed := range list.tools {
			if err := s.heldBack(s.everything(), exposed); err != nil {
				all = append(all, strings.ReplaceAll(err.Error(), "\nhint: tell the person: the operator can ", "; "))
			}
		}
	}
	for _, up := range s.upstreams() {
		all = append(all, s.Oddities(up.Name)...)
	}
	return append(all, s.LookAlikes()...)
}

// Oddities are what may speak to a model behind the person's back in what a server says of
// itself. Each is a line.
func (s *Server) Oddities(server string) []string {
	up := s.upstream(server)
	if up == nil {
		return nil
	}
	return append(s.instructionFindings(up), s.toolFindings(up)...)
}

// instructionFindings are those in a server's instructions.
func (s *Server) instructionFindings(up *Upstream) (all []string) {
	if info := up.Conn.Info(); info != nil {
		for _, f := range scan.Text("instructions", info.Instructions) {
			all = append(all, scan.Line(up.Name)+": "+f.String())
		}
	}
	return all
}

// toolFindings are those in the definitions of a server's tools.
func (s *Server) toolFindings(up *Upstream) (all []string) {
	s.names.all() // gives names in the usual order
	for _, t := range up.Conn.Tools() {
		if up.offers(t.Name) {
			for _, f := range scan.Definition(t.Raw) {
				all = append(all, s.names.name(up, t.Name)+": "+f.String())
			}
		}
	}
	return all
}

// LookAlikes are tools whose names look like those of another server's.
func (s *Server) LookAlikes() (all []string) {
	var names []scan.Name
	for _, up := range s.upstreams() {
		for _, t := range up.Conn.Tools() {
			if up.offers(t.Name) {
				names = append(names, scan.Name{Server: up.Name, Tool: t.Name})
			}
		}
	}
	found := scan.LookAlikes(names)
	for _, n := range names {
		for _, f := range found[n] {
			all = append(all, fmt.Sprintf("%s of server %s: %s", scan.Line(show.Clip(n.Tool, 100)), scan.Line(n.Server), f))
		}
	}
	return all
}

// oddities are the findings that the log has.
type oddities struct {
	mu     sync.Mutex
	logged map[string]bool
}

// maxOdd bounds them: a server can say something else each time it starts.
const maxOdd = 1000

// logOdd logs what is odd in what a server says of itself, once. What stands in the
// definitions of pinned tools is logged when they are pinned.
func (s *Server) logOdd(up *Upstream) {
	all := append(s.instructionFindings(up), s.LookAlikes()...)
	if up.Pins == nil {
		all = append(all, s.toolFindings(up)...)
	}
	s.odd.mu.Lock()
	defer s.odd.mu.Unlock()
	for _, f := range all {
		if !s.odd.logged[f] && len(s.odd.logged) < maxOdd {
			if s.odd.logged == nil {
				s.odd.logged = map[string]bool{}
			}
			s.odd.logged[f] = true
			s.logger.Warn("suspicious text in what a server says about itself", "server", up.Name, "finding", f)
		}
	}
}
