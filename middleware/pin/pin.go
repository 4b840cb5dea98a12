// Package pin holds the tools of servers to what they looked like at first sight.
//
//	tools/list of a server ─► Server.Check ─► as pinned: agents get them
//	                             │        └─► changed: held back, until the operator accepts
//	                             └─► a file of the server, in the state folder
//
// What an operator has read and let pass is a definition: name, description, schemas,
// annotations. A server that changes it later, by an update or to do harm, changes what a
// model is told. A pin belongs to an [Identity], the server's name and what it runs.
package pin

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unsafe"

	"rlmproxy/middleware/scan"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline/show"
)

// A Server checks what one server offers. Its methods may be called concurrently.
type Server struct {
	store      *Store
	id         Identity
	quarantine bool
	log        *slog.Logger

	mu      sync.Mutex // guards the fields below
	list    []upstream.Tool
	verdict *Verdict  // about list
	kept    bool      // list is not from the server itself
	read    stamp     // of the file when verdict was found
	at      time.Time // then
}

// Server returns what checks the tools of a server. With quarantine, tools that were
// never seen are held back too.
func (s *Store) Server(id Identity, quarantine bool, log *slog.Logger) *Server {
	return &Server{store: s, id: id, quarantine: quarantine, log: log}
}

// A Verdict is about one list of tools. It does not change.
type Verdict struct {
	held  map[string]string // why, by tool
	names []string          // of held, in the list's order
	err   error             // why the pins cannot be read or written, or nil
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
	s.read, s.at = stampOf(s.path()), time.Now() // before the file is read: what is written meanwhile is read next time
	last := s.verdict
	if s.kept {
		last = nil // nobody was told of that
	}
	s.kept = kept
	seen, err := s.compare(tools, offers)
	s.list, s.verdict = tools, s.judge(tools, offers, seen, err)
	s.report(last, seen)
	return s.verdict
}

// outdated reports whether what is held back may pass by now. s.mu must be held.
func (s *Server) outdated() bool {
	const again = 2 * time.Second // for a folder that could not be used
	return len(s.verdict.names) > 0 && (s.read != stampOf(s.path()) || s.verdict.err != nil && time.Since(s.at) > again)
}

// A sight is what a comparison found of the tools that are not as pinned.
type sight struct {
	held  map[string]string // why, by tool
	added []string          // tools pinned now
	first bool              // the server was never seen
	other bool              // but one of its name was, that runs something else
	raw   map[string][]byte // canonical definitions of held and added
}

// compare compares tools with the server's file, and notes there what is new. s.mu must be
// held.
func (s *Server) compare(tools []upstream.Tool, offers func(string) bool) (seen sight, err error) {
	r, err := load(s.path())
	if err != nil {
		return seen, err
	}
	seen = r.see(tools, offers, s.quarantine)
	if !r.changed || s.store.readOnly || s.kept {
		return seen, nil
	}
	// Once more, with the other proxies of this folder kept out.
	unlock, err := s.store.lock()
	if err != nil {
		return seen, err
	}
	defer unlock()
	if r, err = load(s.path()); err != nil {
		return seen, err
	}
	r.Server = s.id.Name
	seen = r.see(tools, offers, s.quarantine)
	seen.other = seen.first && s.store.hasOther(s.id)
	if r.changed {
		err = r.save()
	}
	s.read = stampOf(s.path())
	return seen, err
}

// judge makes a verdict of what was found. Where the pins cannot be told, all is held.
func (s *Server) judge(tools []upstream.Tool, offers func(string) bool, seen sight, err error) *Verdict {
	v := &Verdict{held: map[string]string{}, err: err}
	for _, t := range tools {
		why := seen.held[t.Name]
		if err != nil {
			why = fmt.Sprintf("the pins of its server cannot be read: %v", err)
		}
		if why != "" && offers(t.Name) {
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
	if v.err != nil {
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

func (s *Server) path() string { return s.store.path(s.id) }

// A stamp changes when a file is written.
type stamp struct {
	at   time.Time
	size int64
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}
