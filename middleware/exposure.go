package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/catalogue"
	"rlmproxy/middleware/consent"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/pin"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// An Exposure says how agents come to know the tools of a server.
type Exposure string

const (
	ExposeAuto   Exposure = "auto"   // all, or search where the list would be long
	ExposeAll    Exposure = "all"    // each is in the list of tools
	ExposeSearch Exposure = "search" // none is: proxy_find_tools finds them
	ExposeGroups Exposure = "groups" // likewise, and its description has a line for each server
)

// Check is an error for an exposure that there is not. The empty one is that of Options, or
// ExposeAuto.
func (e Exposure) Check() error {
	switch e {
	case "", ExposeAuto, ExposeAll, ExposeSearch, ExposeGroups:
		return nil
	}
	return fmt.Errorf("exposure %q, want auto, all, search or groups", e)
}

// searchesItself are clients, by the name in their handshakes, that keep long lists of tools
// from their models themselves: docs/catalogue.md says where that is from. ExposeAuto lists
// everything to them.
var searchesItself = map[string]bool{"claude-code": true, "cursor-vscode": true}

// A listing is all tools that servers offer at one time, in the order of their list.
type listing struct {
	set     *serverSet
	lists   []listID
	targets []target
	defined []json.RawMessage // as agents get them
	sizes   []atomic.Int32    // of these, in tokens; zero: not counted yet
	trusted []target          // those that are trusted to only read
	found   func() *catalogue.Index
}

// A listID tells the list of a server from a later one.
type listID struct {
	tools   *upstream.Tool
	n       int
	verdict *pin.Verdict
}

// listings keep the last listing.
type listings struct {
	last   atomic.Pointer[listing]
	making sync.Mutex
}

// listing is that of now. It is made anew where a server has another list.
func (s *Server) listing() (*listing, error) {
	if l := s.listings.last.Load(); l != nil && l.set == s.servers.Load() && slices.Equal(l.lists, listIDs(l.set)) {
		return l, nil
	}
	s.listings.making.Lock()
	defer s.listings.making.Unlock()
	l := &listing{set: s.servers.Load()}
	l.lists = listIDs(l.set)
	l.targets = s.names.all() // of these lists or of later ones, whose listing is made then
	found := make([]catalogue.Tool, len(l.targets))
	for i, t := range l.targets {
		raw, err := s.definition(t)
		if err != nil {
			return nil, err
		}
		l.defined = append(l.defined, raw)
		if s.trusts(t) {
			l.trusted = append(l.trusted, t)
		}
		found[i] = catalogue.Tool{Server: t.up.Name + " " + t.up.Description, Own: t.tool.Name, Definition: raw}
	}
	l.sizes = make([]atomic.Int32, len(l.targets))
	l.found = sync.OnceValue(func() *catalogue.Index { return catalogue.New(found) })
	s.listings.last.Store(l)
	return l, nil
}

// size is how many tokens the definition at i has.
func (l *listing) size(i int) int {
	n := l.sizes[i].Load()
	if n == 0 {
		count, _ := tokens.Count(l.defined[i])
		n = int32(count)
		l.sizes[i].Store(n)
	}
	return int(n)
}

func listIDs(set *serverSet) []listID {
	ids := make([]listID, len(set.list))
	for i, up := range set.list {
		list := up.Conn.Tools()
		ids[i] = listID{unsafe.SliceData(list), len(list), up.verdict(list)}
	}
	return ids
}

// An exposing is what of a listing one client gets to read.
type exposing struct {
	all    func(*Upstream) bool // each tool of this server
	groups bool
}

// exposure decides that, by what the operator wants and how long the list would be.
func (s *Server) exposure(client string, v view, l *listing) exposing {
	wanted := func(up *Upstream) Exposure {
		switch {
		case up.Exposure != "":
			return up.Exposure
		case s.opts.Exposure != "":
			return s.opts.Exposure
		}
		return ExposeAuto
	}
	groups, auto := false, false
	for _, up := range v.servers() {
		groups = groups || wanted(up) == ExposeGroups
		auto = auto || wanted(up) == ExposeAuto
	}
	long := false
	if auto && !searchesItself[client] {
		sum := 0
		for i, t := range l.targets {
			if e := wanted(t.up); sum <= s.opts.CatalogueTokens && (e == ExposeAuto || e == ExposeAll) && v.tool(t.up, t.tool.Name) {
				sum += l.size(i)
			}
		}
		long = sum > s.opts.CatalogueTokens
	}
	return exposing{groups: groups, all: func(up *Upstream) bool {
		switch wanted(up) {
		case ExposeAll:
			return true
		case ExposeAuto:
			return !long
		}
		return false
	}}
}

// clientName is what the program says that it is.
func clientName(r *session.Request) string {
	info := r.ClientInfo
	if info == nil {
		info = r.Session.ClientInfo()
	}
	return jsonscan.StringMember(info, "name")
}

// stand is what stands in for tools that a client is not listed, or nil.
func (s *Server) stand(v view, e exposing, l *listing) []string {
	var servers []string
	hides := false
	for _, up := range v.servers() {
		if e.all(up) {
			continue
		}
		hides = true
		line := up.Name
		if e.groups {
			line = "\n- " + up.Name
			if about := up.about(); about != "" {
				line += ": " + about
			}
		}
		servers = append(servers, line)
	}
	if !hides {
		return nil
	}
	readOnly := true
	for _, t := range l.targets {
		readOnly = readOnly && (t.onlyReads() || !v.tool(t.up, t.tool.Name))
	}
	for _, up := range s.upstreams() {
		readOnly = readOnly && (up.listed() || !v.maybe(up)) // what it has will be called by the same tool
	}
	const most = 100
	if more := len(servers) - most; more > 0 {
		servers = append(servers[:most], fmt.Sprintf("%d more", more))
	}
	join := ", "
	if e.groups {
		join = ""
	}
	return tools.Stand{Servers: strings.Join(servers, join) + ".", ReadOnly: readOnly}.Definitions()
}

// foundTools are those that the agent of a session has had described.
type foundTools struct {
	mu    sync.Mutex
	names map[string]bool // as exposed
}

// maxFound bounds the found tools that a session's list has.
const maxFound = 100

// foundBy are those of a session that were added to its list.
func (s *Server) foundBy(r *session.Request) *foundTools {
	if !s.opts.ListFound || r.Stateless {
		return nil
	}
	found, ok := s.found.Load(r.Session)
	if !ok {
		found, _ = s.found.LoadOrStore(r.Session, &foundTools{names: map[string]bool{}})
	}
	return found.(*foundTools)
}

// has reports whether a tool was found; of nil, none was.
func (f *foundTools) has(t target) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names[t.exposed]
}

// add notes a tool, and reports whether it is new.
func (f *foundTools) add(t target) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.names[t.exposed] || len(f.names) >= maxFound {
		return false
	}
	f.names[t.exposed] = true
	return true
}

// about is what a server is for, in a sentence: the operator's, or else its own in quotes,
// for it may say anything.
func (u *Upstream) about() string {
	if u.Description != "" {
		return catalogue.Sentence(u.Description)
	}
	if info := u.Conn.Info(); info != nil && strings.TrimSpace(info.Instructions) != "" {
		return show.Quote(catalogue.Sentence(info.Instructions))
	}
	return ""
}

// A client's catalogue is what proxy_find_tools and its like work on.
type clientCatalogue struct {
	s       *Server
	request *session.Request
}

var _ tools.Catalogue = clientCatalogue{}

// Find implements [tools.Catalogue].
func (c clientCatalogue) Find(ctx context.Context, query, server string, limit int) (lines []string, total int, err error) {
	c.s.awaitUpstreams(ctx, (*Upstream).listed)
	v := c.s.viewOf(c.request)
	l, err := c.s.listing()
	if err != nil {
		return nil, 0, err
	}
	var only *Upstream
	if server != "" {
		if only, err = c.server(v, server); err != nil {
			return nil, 0, err
		}
	}
	if query == "" && only == nil {
		lines = c.groups(ctx, v, l)
		return lines, len(lines), nil
	}
	may := func(i int) bool {
		t := l.targets[i]
		return (only == nil || t.up.Name == only.Name) && v.tool(t.up, t.tool.Name)
	}
	var places []int
	if query == "" {
		for i := range l.targets {
			if may(i) {
				places = append(places, i)
			}
		}
		total = len(places)
		places = places[:min(total, limit)]
	} else {
		if err := turn(ctx, 0); err != nil {
			return nil, 0, err
		}
		places = l.found().Find(query, limit, may)
		total = len(places)
	}
	for _, i := range places {
		lines = append(lines, catalogue.Signature(l.defined[i]))
	}
	if len(lines) == 0 {
		lines = append([]string{"no tool is found; the servers are:"}, c.groups(ctx, v, l)...)
	}
	return lines, max(total, len(lines)), nil
}

// server is the one that an agent names, by its name or its prefix.
func (c clientCatalogue) server(v view, name string) (*Upstream, error) {
	var names []string
	servers := v.servers()
	for _, is := range []func(*Upstream) bool{
		func(up *Upstream) bool { return up.Name == name },
		func(up *Upstream) bool { return up.Prefix == name }, // which may be another's name
	} {
		if i := slices.IndexFunc(servers, is); i >= 0 {
			return servers[i], nil
		}
	}
	for _, up := range servers {
		names = append(names, up.Name)
	}
	return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf("no server %q", show.ClipBytes(name, 80)),
		Hint: "the servers are " + someOf(names)}
}

// groups are the servers that the agent sees, a line each.
func (c clientCatalogue) groups(ctx context.Context, v view, l *listing) (lines []string) {
	tools := map[string]int{}
	for _, t := range l.targets {
		if v.tool(t.up, t.tool.Name) {
			tools[t.up.Name]++
		}
	}
	for _, up := range c.s.upstreams() {
		if !v.server(up) {
			continue
		}
		line := up.Name + ": " + show.Plural(tools[up.Name], "tools")
		switch state, err := up.Conn.State(); {
		case err != nil:
			line += ", " + state.String() + ": " + show.ClipBytes(c.s.redactor(up, "").error(ctx, err).Error(), 200)
		case state != upstream.Ready:
			line += ", " + state.String()
		}
		if about := up.about(); about != "" {
			line += ". " + about
		}
		lines = append(lines, frame.OneLine(line))
	}
	return lines
}

// Describe implements [tools.Catalogue]. A name that there is not has its error in its place,
// as long as there is another one.
func (c clientCatalogue) Describe(ctx context.Context, names []string) (all []json.RawMessage, err error) {
	v := c.s.viewOf(c.request)
	l, err := c.s.listing()
	if err != nil {
		return nil, err
	}
	known, news := false, false
	var last error
	found, e := c.s.foundBy(c.request), c.s.exposure(clientName(c.request), v, l)
	for _, name := range names {
		t, err := c.s.find(ctx, v, name)
		if c.s.tools.Has(name) {
			err = &pipeline.Error{Code: pipeline.BadArguments, Text: name + " is the proxy's own: your list of tools describes it"}
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			last = err
			all = append(all, jsonscan.With(jsonscan.Object("name", jsonscan.Quote(show.ClipBytes(name, 80))), "error", jsonscan.Quote(c.s.reason(ctx, err))))
			continue
		}
		raw, err := c.s.definition(t)
		if err != nil {
			return nil, err
		}
		known = true
		news = !e.all(t.up) && found.add(t) || news
		all = append(all, catalogue.Compact(raw))
	}
	if !known {
		return nil, last
	}
	if news {
		c.s.announceTo(changeDelay, session.Tools, []*session.Session{c.request.Session})
	}
	return all, nil
}

// reason is an error for an agent, in a line.
func (s *Server) reason(ctx context.Context, err error) string {
	e, ok := explained("proxy_describe_tools", err)
	if !ok {
		return show.ClipBytes(err.Error(), 500) // by a server itself
	}
	if e.Code == codeInternal {
		s.logger.Error("internal error", "ref", reference(err), "tool", "proxy_describe_tools", "error", err)
	}
	text := e.Code + ": " + e.Text
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return show.ClipBytes(text, 1500)
}

// Call implements [tools.Catalogue].
func (c clientCatalogue) Call(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error) {
	consented := consent.Answers(c.request.Params)
	params, err := jsonscan.Rewrite(c.request.Params, func(key string, value json.RawMessage) json.RawMessage {
		switch key {
		case "name":
			return jsonscan.Quote(name)
		case "arguments":
			return arguments
		case "requestState", "inputResponses":
			if consented { // to a question of ours, of which the server knows nothing
				return nil
			}
		}
		return value
	})
	if err != nil {
		return nil, err
	}
	r := *c.request
	r.Name, r.Arguments, r.Params = name, arguments, params
	return unlessRetired(func() (json.RawMessage, error) { return c.s.callUpstream(ctx, &r, c.allowed) })
}

// maxSchemaHint is how long a schema is that an error shows, in bytes: longer ones are cut.
const maxSchemaHint = 1500

// turn waits until a call may compute on definitions of n bytes. They take more time than
// results of this size: what is short for a result has a turn as well.
func turn(ctx context.Context, n int) error {
	return guard.HoldOf(ctx).Work(ctx, int64(n)+4<<10)
}

// allowed checks a call that the agent's client does not see as one of this tool: its person
// is asked where that can be, once a session and tool, unless the tool is trusted to only
// read; and the arguments must be as its schema says.
func (c clientCatalogue) allowed(ctx context.Context, t target, params json.RawMessage) (question json.RawMessage, err error) {
	arguments := jsonscan.Member(params, "arguments")
	schema := jsonscan.Member(t.tool.Raw, "inputSchema")
	if err := turn(ctx, len(schema)+len(arguments)); err != nil {
		return nil, err
	}
	wrong := catalogue.Check(schema, arguments)
	guard.HoldOf(ctx).Rest()
	if wrong != "" {
		e := &pipeline.Error{Code: pipeline.BadArguments, Text: t.exposed + ": " + wrong,
			Hint: "its input schema is " + string(catalogue.CompactSchema(schema))}
		if len(e.Hint) > maxSchemaHint {
			e.Hint = `proxy_describe_tools {"names":["` + t.exposed + `"]} shows its input schema`
		}
		return nil, e
	}
	if c.s.opts.FreshCalls == FreshAll || t.vouched() || !consent.CanBeAsked(c.request) {
		return nil, nil
	}
	said, question, err := c.s.mayAct(ctx, c.request, t, arguments)
	if err == nil && (said == consent.Declined || said == consent.Dismissed) {
		err = declined(t, said)
	}
	return question, err
}
