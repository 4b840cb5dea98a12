package middleware

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"rlmproxy/pipeline"
)

// heldBack is why the tool of an exposed name cannot be called, if it is held back and the
// agent may know of it.
func (s *Server) heldBack(v view, exposed string) error {
	up, tool := s.names.ownerOf(exposed)
	if up == nil || !up.offers(tool) || !v.tool(up, tool) {
		return nil
	}
	why, held := up.verdict(up.Conn.Tools()).Held(tool)
	if !held {
		return nil
	}
	s.watchHeld()
	// How to accept it is for the operator to read there: an agent may have a shell.
	return &pipeline.Error{Code: codeHeldBack, Text: exposed + " " + why, Hint: fmt.Sprintf("tell the person: the operator can review it with %q", up.Pins.Review())}
}

// heldNotes tell agents which tools they do not see, a line for each server.
func (s *Server) heldNotes(v view) []string {
	const most = 10
	var notes []string
	for _, server := range s.heldNames(v) {
		names, more := server.tools, ""
		if n := len(names) - most; n > 0 {
			names, more = names[:most], fmt.Sprintf(" and %d more", n)
		}
		notes = append(notes, fmt.Sprintf("Tools held back until the operator accepts them (review: %q): %s%s", server.up.Pins.Review(), strings.Join(names, ", "), more))
	}
	return notes
}

// A heldList is what is held back of a server, under exposed names.
type heldList struct {
	up    *Upstream
	tools []string
}

// heldNames are those that the agent may know of.
func (s *Server) heldNames(v view) (lists []heldList) {
	for _, up := range s.upstreams() {
		list := heldList{up: up}
		held := up.verdict(up.Conn.Tools()).Names()
		if len(held) > 0 {
			s.names.all() // in the usual order, so that these have the usual names
		}
		for _, tool := range held {
			if !v.tool(up, tool) {
				continue
			}
			list.tools = append(list.tools, s.names.name(up, tool))
		}
		if list.tools != nil {
			lists = append(lists, list)
		}
	}
	return lists
}

// AllHeld reports whether a server has tools for agents, all of which are held back.
func (s *Server) AllHeld(server string) bool {
	up := s.upstream(server)
	if up == nil {
		return false
	}
	all, held := up.count()
	return all > 0 && held == all
}

// count is how many tools a server has for agents, and how many of them are held back.
func (u *Upstream) count() (all, held int) {
	tools := u.Conn.Tools()
	verdict := u.verdict(tools)
	for _, t := range tools {
		if !u.offers(t.Name) {
			continue
		}
		all++
		if _, is := verdict.Held(t.Name); is {
			held++
		}
	}
	return all, held
}

// heldPause is how often it is seen whether the operator has accepted tools, while some
// are held back.
const heldPause = 2 * time.Second

// A heldWatch looks for tools that the operator has accepted, so that clients are told.
type heldWatch struct {
	mu     sync.Mutex // guards the fields below
	timer  *time.Timer
	last   []heldList
	closed bool
}

// watchHeld begins to look, if tools are held back and nobody looks yet.
func (s *Server) watchHeld() {
	lists := s.heldNames(s.everything())
	w := &s.held
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil && !w.closed && len(lists) > 0 {
		w.last = lists
		w.timer = time.AfterFunc(heldPause, s.lookHeld)
	}
}

// lookHeld tells clients if other tools are held back than before, and looks again later
// while there are any.
func (s *Server) lookHeld() {
	lists := s.heldNames(s.everything())
	w := &s.held
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	for _, list := range slices.Concat(w.last, lists) {
		same := func(l heldList) bool { return l.up.Name == list.up.Name && slices.Equal(l.tools, list.tools) }
		if !slices.ContainsFunc(w.last, same) || !slices.ContainsFunc(lists, same) {
			s.tellChanges(list.up)
		}
	}
	w.last, w.timer = lists, nil
	if len(lists) > 0 {
		w.timer = time.AfterFunc(heldPause, s.lookHeld)
	}
}

// close ends the watch.
func (w *heldWatch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
