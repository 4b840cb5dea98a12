// Package pin holds the tools of servers to what they looked like at first sight.
//
//	tools/list of a server ─► Server.Check ─► as pinned: agents get them
//	                             │        └─► changed: held back, until the operator accepts
//	                             └─► a record of the server: a file in the state folder,
//	                                 or in the store that replicas share
//
// What an operator has read and let pass is a definition: name, description, schemas,
// annotations. A server that changes it later, by an update or to do harm, changes what a
// model is told. A pin belongs to an [Identity], the server's name and what it runs.
package pin

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"rlmproxy/fleet"
	"rlmproxy/middleware/scan"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline/show"
)

// A Server checks what one server offers. Its methods may be called concurrently.
type Server struct {
	store      *Store
	id         Identity
	name       string // of its record
	quarantine bool
	log        *slog.Logger

	mu      sync.Mutex // guards the fields below
	list    []upstream.Tool
	verdict *Verdict  // about list
	kept    bool      // list is not from the server itself
	read    string    // the record's revision when verdict was found
	at      time.Time // then
}

// Server returns what checks the tools of a server. With quarantine, tools that were
// never seen are held back too.
func (s *Store) Server(id Identity, quarantine bool, log *slog.Logger) *Server {
	name := recordName(id)
	s.mu.Lock()
	if !slices.Contains(s.served, name) {
		s.served = append(s.served, name)
	}
	s.mu.Unlock()
	return &Server{store: s, id: id, name: name, quarantine: quarantine, log: log}
}

// A Verdict is about one list of tools. It does not change.
type Verdict struct {
	held  map[string]string // why, by tool
	names []string          // of held, in the list's order
	err   error             // why the pins cannot be read or written, or nil
	away  bool              // err is that they are where nobody can ask now
}

// Held returns why a tool is held back, which goes on after its name, if it is. A nil
// verdict holds nothing.
func (v *Verdict) Held(tool string) (why string, held bool) {
	if v == nil {
		return "", false
	}
	why, held = v.held[tool]
	return why, held
}

// Names are the tools that are held back, in the order of the list.
func (v *Verdict) Names() []string {
	if v == nil {
		return nil
	}
	return v.names
}

// Review is the command by which the operator sees what is held back of the server, and how
// to accept it.
func (s *Server) Review() string { return s.store.Command("review", s.id.Name) }

// Check says which of tools, the server's last list, are held back; those that offers
// refuses nobody gets. A list that was checked is not checked again, unless something is
// held back and the operator has been at the file since.
func (s *Server) Check(tools []upstream.Tool, offers func(string) bool) *Verdict {
	return s.check(tools, offers, false)
}

// CheckKept is Check of what the server offered when it was last seen, of which nothing is
// pinned or logged: that is for the list with which it connects.
func (s *Server) CheckKept(tools []upstream.Tool, offers func(string) bool) *Verdict {
	return s.check(tools, offers, true)
}

func (s *Server) check(tools []upstream.Tool, offers func(string) bool, kept bool) *Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := s.verdict != nil && s.kept == kept && len(tools) == len(s.list) && unsafe.SliceData(tools) == unsafe.SliceData(s.list)
	if same && !s.outdated() {
		return s.verdict
	}
	if len(tools) == 0 && s.verdict == nil {
		return nil // not connected yet
	}
	last := s.verdict
	if s.kept || last != nil && last.away {
		last = nil // nobody was told of that
	}
	s.kept, s.at = kept, time.Now()
	seen, err := s.compare(tools, offers, same)
	if same && errors.As(err, new(*fleet.AwayError)) {
		return s.verdict // the last that is known
	}
	s.list, s.verdict = tools, s.judge(tools, offers, seen, err)
	s.report(last, seen)
	return s.verdict
}

// outdated reports whether what is held back may pass by now. s.mu must be held.
func (s *Server) outdated() bool {
	const again = 2 * time.Second // for pins that could not be read or written
	if s.verdict.err != nil && time.Since(s.at) > again {
		return true
	}
	return len(s.verdict.names) > 0 && s.read != s.store.shelf.revision(s.name)
}

// A sight is what a comparison found of the tools that are not as pinned.
type sight struct {
	held  map[string]string // why, by tool
	added []string          // tools pinned now
	first bool              // the server was never seen
	other bool              // but one of its name was, that runs something else
	raw   map[string][]byte // canonical definitions of held and added
}

// compare compares tools with the server's record, and notes there what is new. Again is
// set for the list of the last time. s.mu must be held.
func (s *Server) compare(tools []upstream.Tool, offers func(string) bool, again bool) (seen sight, err error) {
	r, err := s.store.ours(s.name)
	if errors.As(err, new(*fleet.AwayError)) {
		// As it was when the store was last there, and nothing new.
		return s.store.last(s.name).see(tools, offers, true, again), err
	}
	if err != nil {
		s.read = s.store.shelf.revision(s.name)
		return seen, err
	}
	s.read = r.revision
	seen = r.see(tools, offers, s.quarantine, again)
	if !r.changed || s.store.readOnly || s.kept {
		return seen, nil
	}
	// Once more, with the other proxies kept out, or after those that were faster.
	err = s.store.change(func() ([]*Record, error) {
		if r, err = s.store.ours(s.name); err != nil {
			return nil, err
		}
		r.Server = s.id.Name
		seen = r.see(tools, offers, s.quarantine, again)
		seen.other = seen.first && s.store.hasOther(s.id)
		return []*Record{r}, nil
	})
	if errors.As(err, new(*fleet.AwayError)) { // and nobody knows what has been pinned
		return s.store.last(s.name).see(tools, offers, true, again), err
	}
	if r != nil {
		s.read = r.revision
	}
	return seen, err
}

// judge makes a verdict of what was found. Where the pins cannot be told, all is held.
func (s *Server) judge(tools []upstream.Tool, offers func(string) bool, seen sight, err error) *Verdict {
	v := &Verdict{held: map[string]string{}, err: err, away: errors.As(err, new(*fleet.AwayError))}
	for _, t := range tools {
		why, held := seen.held[t.Name]
		switch {
		case v.away && held:
			why = "the shared store with the pins is away, and its definition is not one that this replica knows: it is checked when the store is back"
		case v.err != nil && !v.away:
			why, held = fmt.Sprintf("the pins of its server cannot be read: %v", err), true
		}
		if held && offers(t.Name) {
			v.held[t.Name] = "is held back: " + why
			v.names = append(v.names, t.Name)
		}
	}
	return v
}

// repair is what helps where the file is of no use.
func (s *Server) repair() string {
	return fmt.Sprintf("%q removes the pins; then the tools that the server offers are pinned anew", s.store.Command("forget", s.id.Name))
}

// report logs what is new since the last verdict, once.
func (s *Server) report(last *Verdict, seen sight) {
	if s.store.readOnly || s.kept {
		return
	}
	v := s.verdict
	switch {
	case v.away && len(v.names) > 0:
		s.log.Warn("tools held back while the shared store is away", "tools", clipped(v.names))
		return
	case v.away:
		return
	case v.err != nil:
		if last == nil || last.err == nil {
			s.log.Error("the server's tools are held back: its pins cannot be read", "error", v.err, "hint", s.repair())
		}
		return
	}
	switch {
	case seen.other:
		s.log.Warn("the server's command or URL is not the one whose tools were pinned: its tools are pinned anew", "tools", len(seen.added))
	case seen.first:
		s.log.Debug("tools pinned at first sight", "tools", len(seen.added))
	case len(seen.added) > 0:
		s.log.Info("new tools of a known server", "tools", clipped(seen.added), "hint", `"quarantine": true holds new ones back`)
	}
	var held []string
	for _, name := range v.names {
		if _, before := last.Held(name); !before {
			held = append(held, name)
		}
	}
	if len(held) > 0 {
		s.log.Warn("tools held back", "tools", clipped(held), "why", seen.held[held[0]], "review", s.Review(), "accept", s.store.Command("accept", s.id.Name))
	}
	for _, name := range append(held, seen.added...) {
		for _, f := range scan.Definition(seen.raw[name]) {
			s.log.Warn("suspicious text in a tool's definition", "tool", scan.Line(show.Clip(name, 100)), "at", f.Where, "finding", f.What)
		}
	}
}

// clipped is some names for a line of the log.
func clipped(names []string) string {
	const most = 10
	text := scan.Line(show.Clip(strings.Join(names[:min(most, len(names))], " "), 500))
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
