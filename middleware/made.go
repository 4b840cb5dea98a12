package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/catalogue"
	"rlmproxy/middleware/scan"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/toolbox"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/script"
	"rlmproxy/pipeline/show"
	"rlmproxy/registry"
)

// Made are the tools that agents make at run time, and what runs them.
type Made struct {
	// Store has them. It stays the caller's to close, after the server.
	Store registry.Store
	// Container runs those of the engine container; Programs of [Options] all others in
	// JavaScript. A [Compiler] compiles them when they are made. Without Container, NoContainer
	// says why.
	Container   script.Runner
	NoContainer string
}

// A Compiler says what is wrong with a program, for who wrote it, without running it.
type Compiler interface {
	Check(ctx context.Context, p script.Program) error
}

// openBox returns a box of the tools that agents make, or nil where they make none.
func (o *Options) openBox() *toolbox.Box {
	if o.Made == nil {
		return nil
	}
	opts := toolbox.Options{Store: o.Made.Store, Compile: o.compile, Logger: o.Logger}
	if o.Made.Container == nil {
		opts.NoContainer = o.Made.NoContainer
	}
	return toolbox.New(opts)
}

// runner runs the program of a tool in JavaScript.
func (o *Options) runner(t registry.Tool) script.Runner {
	if t.Engine == registry.Container {
		return o.Made.Container
	}
	return o.Programs
}

// compile is what is wrong with the program of a tool in JavaScript, or nil.
func (o *Options) compile(ctx context.Context, t registry.Tool) error {
	c, ok := o.runner(t).(Compiler)
	if !ok {
		return nil
	}
	return c.Check(ctx, script.Program{Name: t.Name, Source: t.Program, Packages: t.Packages})
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

// runMade runs a tool made at run time, as the agent that calls it. NoModel is for [Server.result].
func (s *Server) runMade(ctx context.Context, t target, r *session.Request, params json.RawMessage, noModel bool) (json.RawMessage, error) {
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
	// Its program relies on the schema, and nobody checks after us.
	if err := t.checkArguments(ctx, arguments, catalogue.CheckAll); err != nil {
		return nil, err
	}
	runner := s.opts.runner(tool)
	if runner == nil && tool.Engine == registry.Container {
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: t.exposed + " needs the engine container, which cannot be used here: " + s.opts.Made.NoContainer}
	}
	return s.asking(ctx, r, func(ctx context.Context, reach tools.Reach) (json.RawMessage, error) {
		reach.NoModel = noModel
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
	if t.Call != nil {
		if _, found := c.s.names.find(t.Call.Tool); !found {
			line += fmt.Sprintf(" It calls %s, a tool that is not there now.", show.Quote(show.ClipBytes(t.Call.Tool, 80)))
		}
	}
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
