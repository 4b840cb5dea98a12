package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/catalogue"
	"rlmproxy/middleware/consent"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

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
	servers := v.tooled()
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
	for _, up := range v.tooled() {
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
	found, e := c.s.foundBy(ctx, c.request), c.s.exposure(clientName(c.request), v, l)
	for _, name := range names {
		var t target
		if c.s.tools.Has(name) {
			err = &pipeline.Error{Code: pipeline.BadArguments, Text: name + " is the proxy's own: your list of tools describes it"}
		} else {
			t, err = c.s.find(ctx, v, name)
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			last = err
			all = append(all, jsonscan.With(jsonscan.Object("name", jsonscan.Quote(show.ClipBytes(name, 80))), "error", jsonscan.Quote(c.s.reason(err))))
			continue
		}
		raw, err := c.s.definition(t)
		if err != nil {
			return nil, err
		}
		known = true
		news = !e.all(t.up) && found.add(ctx, t) || news
		all = append(all, catalogue.Compact(raw))
	}
	if !known {
		return nil, last
	}
	if news {
		c.s.announceTo(changeDelay, session.Tools, []*session.Session{c.request.Session})
		found.tellOthers(ctx)
	}
	return all, nil
}

// reason is an error for an agent, in a line.
func (s *Server) reason(err error) string {
	e, ok := s.explain("proxy_describe_tools", err)
	if !ok {
		return show.ClipBytes(err.Error(), 500) // by a server itself
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
	if err := t.checkArguments(ctx, arguments, catalogue.Check); err != nil {
		return nil, err
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

// checkArguments holds the arguments of a call against the schema of the tool, by one of the checks
// of package catalogue.
func (t target) checkArguments(ctx context.Context, arguments json.RawMessage, check func(schema, arguments json.RawMessage) string) error {
	schema := jsonscan.Member(t.tool.Raw, "inputSchema")
	if err := turn(ctx, len(schema)+len(arguments)); err != nil {
		return err
	}
	wrong := check(schema, arguments)
	guard.HoldOf(ctx).Rest()
	if wrong == "" {
		return nil
	}
	e := &pipeline.Error{Code: pipeline.BadArguments, Text: t.exposed + ": " + wrong,
		Hint: "its input schema is " + string(catalogue.CompactSchema(schema))}
	if len(e.Hint) > maxSchemaHint {
		e.Hint = `proxy_describe_tools {"names":["` + t.exposed + `"]} shows its input schema`
	}
	return e
}
