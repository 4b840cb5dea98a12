package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/scan"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/toolbox"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/script"
	"rlmproxy/registry"
)

// Made are the tools that agents make at run time, and what runs them.
type Made struct {
	// Store has them. It stays the caller's to close, after the server.
	Store registry.Store
	// Programs runs those in JavaScript, unless they have an engine of their own.
	Programs script.Runner
	// Compile is what is wrong with a program in JavaScript, or nil.
	Compile func(ctx context.Context, program string) error
	// Container runs those of the engine container. Nil: NoContainer says why there is none.
	Container   script.Runner
	NoContainer string
}

func (m *Made) box(logger *slog.Logger) *toolbox.Box {
	opts := toolbox.Options{Store: m.Store, Compile: m.Compile, Logger: logger}
	if m.Container == nil {
		opts.NoContainer = m.NoContainer
	}
	return toolbox.New(opts)
}

// madeTools stands for the tools made at run time beside these servers, nil if there are none.
// They are trusted as far as proxy_* tools are: what a program calls is held to the rules for
// calls of these. What they make may be of any server, so it is kept from the sub-model if what
// one of them sends is.
func (s *Server) madeTools(list []*Upstream) *Upstream {
	if s.box == nil {
		return nil
	}
	up := &Upstream{Name: toolbox.Name, ID: toolbox.Name, Conn: s.box, Fresh: []string{"*"}, Description: "tools that agents of this proxy have made"}
	for _, one := range list {
		up.Terms = one.Terms // which is the same for all
		up.NoModel = up.NoModel || one.NoModel
	}
	return up
}

// followMade follows the store of tools until Close.
func (s *Server) followMade() {
	if s.box != nil {
		s.following.Go(func() { s.box.Follow(s.life, s.madeChanged) })
	}
}

// madeChanged tells clients that there are other tools.
func (s *Server) madeChanged() {
	s.names.all()
	s.tellChanges(s.upstream(toolbox.Name))
}

// awaitMade gives the store of tools a moment after the start.
func (s *Server) awaitMade(ctx context.Context) {
	if s.box == nil {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, s.begun.Add(s.opts.ListWait))
	defer cancel()
	s.box.Settled(ctx)
}

// isMade reports whether a tool was made at run time.
func (s *Server) isMade(t target) bool { return s.box != nil && t.up.Conn == Caller(s.box) }

// runMade runs a tool made at run time, as the agent that calls it.
func (s *Server) runMade(ctx context.Context, t target, r *session.Request, params json.RawMessage) (json.RawMessage, error) {
	tool, ok := s.box.Tool(t.tool.Name)
	if !ok { // it was there a moment ago
		return nil, s.unknownTool(ctx, s.viewOf(r), t.exposed)
	}
	if tools.InProgram(ctx) { // it would wait for a worker while it holds one, and never end
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf("%s was made at run time, and programs call tools of servers only", t.exposed)}
	}
	arguments := jsonscan.Member(params, "arguments")
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	if err := t.checkArguments(ctx, arguments); err != nil {
		return nil, err
	}
	runner := s.opts.Made.Programs
	if tool.Engine == registry.Container {
		if runner = s.opts.Made.Container; runner == nil {
			return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: t.exposed + " needs the engine container, which cannot be used here: " + s.opts.Made.NoContainer}
		}
	}
	return s.asking(ctx, r, func(ctx context.Context, reach tools.Reach) (json.RawMessage, error) {
		return s.tools.Run(ctx, r.Session.Agent, t.exposed, tool, arguments, reach, runner)
	})
}

// makesTools reports whether the client of r may make tools: for it that is to change what all
// agents have.
func (s *Server) makesTools(r *session.Request) bool { return s.box != nil && s.viewOf(r).all() }

// A clientToolbox changes tools for the client that has made a request.
type clientToolbox struct {
	s       *Server
	request *session.Request
}

var _ tools.Toolbox = clientToolbox{}

// All implements [tools.Toolbox].
func (c clientToolbox) All() ([]registry.Tool, error) { return c.s.box.All() }

// Find implements [tools.Toolbox].
func (c clientToolbox) Find(name string) (registry.Tool, error) { return c.s.box.Find(name) }

// Put implements [tools.Toolbox].
func (c clientToolbox) Put(ctx context.Context, t registry.Tool, revision int64) (registry.Tool, error) {
	t, err := c.s.box.Put(ctx, t, revision, c.request.Session.Party, c.s, c.s.madeChanged)
	if err == nil {
		c.s.logger.Info("an agent has changed a tool", "agent", c.request.Session.Party, "tool", t.Name, "revision", t.Revision, "enabled", t.Enabled)
	}
	return t, err
}

// Delete implements [tools.Toolbox].
func (c clientToolbox) Delete(ctx context.Context, name string, revision int64) error {
	err := c.s.box.Delete(ctx, name, revision, c.s.madeChanged)
	if err == nil {
		c.s.logger.Info("an agent has deleted a tool", "agent", c.request.Session.Party, "tool", name, "revision", revision)
	}
	return err
}

// Line implements [tools.Toolbox]. A tool whose name a server has got has another one meanwhile.
func (c clientToolbox) Line(t registry.Tool) string {
	line := toolbox.Line(t)
	if made := c.s.upstream(toolbox.Name); t.Enabled && made != nil {
		if name := c.s.names.name(made, t.Name); name != "" && name != t.Name {
			line += fmt.Sprintf(" It is listed as %s: %s.", name, c.s.Taken(t.Name))
		}
	}
	return line
}

var _ toolbox.Namespace = (*Server)(nil)

// Taken says whose a name is, or may come to be, "" for nobody's: that of a tool of a server, or
// one that its tools may have, or one that looks like it.
func (s *Server) Taken(name string) string {
	for _, up := range s.upstreams() {
		if up.Prefix != "" && strings.HasPrefix(name, clean(up.Prefix)+"_") {
			return fmt.Sprintf("names that begin with %s_ are those of server %q", clean(up.Prefix), up.Name)
		}
	}
	var known []scan.Name
	for _, t := range s.names.all() {
		if !s.isMade(t) {
			known = append(known, scan.Name{Server: t.up.Name, Tool: t.exposed})
		}
	}
	if up, _ := s.names.ownerOf(name); up != nil && up.Name != toolbox.Name {
		return fmt.Sprintf("server %q has a tool of this name", up.Name)
	}
	own := scan.Name{Server: toolbox.Name, Tool: name}
	if found := scan.LookAlikes(append(slices.Clip(known), own))[own]; len(found) > 0 {
		return "it " + found[0].What
	}
	return ""
}
