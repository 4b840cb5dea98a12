package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"rlmproxy/cache"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// A Catalogue is the tools of servers, for an agent that does not get them in its list.
type Catalogue interface {
	// Find returns a line for each of at most so many tools that a query means, best first,
	// and how many there are in all. With a server, only its tools; without a query, those
	// of the server, or a line for each server.
	Find(ctx context.Context, query, server string, limit int) (lines []string, total int, err error)
	// Describe returns the definitions of tools, in the order of their names.
	Describe(ctx context.Context, names []string) ([]json.RawMessage, error)
	// Call returns what a direct call of a tool would.
	Call(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error)
}

// CatalogueNames are those of our tools that stand in for the ones of servers, in the order
// of their use.
var CatalogueNames = []string{"proxy_find_tools", "proxy_describe_tools", "proxy_call_tool"}

// Calls reports whether a tool of ours is the one that calls others in the agent's place: its
// result is theirs.
func Calls(name string) bool { return name == "proxy_call_tool" }

const (
	defaultFound = 5
	maxFound     = 100
	maxDescribed = 20
)

// findTools is proxy_find_tools: which tools there are for something.
type findTools struct {
	query, server string
	limit         int
}

func (f *findTools) params() []param {
	f.limit = none
	return []param{
		{"query", aString, &f.query, `"read a file"`},
		{"server", aString, &f.server, ""},
		{"limit", fmt.Sprintf(`"type":"integer","default":%d`, defaultFound), &f.limit, ""},
	}
}

func (f *findTools) answer(ctx context.Context, c *call) (json.RawMessage, error) {
	limit := f.limit
	switch {
	case limit == none && f.query == "":
		limit = maxFound
	case limit == none:
		limit = defaultFound
	case limit < 1 || limit > maxFound:
		return nil, misused(c.tool, "limit must be 1 to %d", maxFound)
	}
	lines, total, err := c.reach.Catalogue.Find(ctx, f.query, f.server, limit)
	if err != nil {
		return nil, err
	}
	v := pipeline.Value{Kind: pipeline.Text, Items: len(lines), Total: total, Unit: "tools"}
	for _, line := range lines {
		v.Data = append(append(v.Data, line...), '\n')
	}
	v.Data = v.Data[:max(0, len(v.Data)-1)]
	header := ""
	if total > len(lines) {
		header = shape.Notes(fmt.Sprintf("%s of %s tools · limit shows more", show.Count(len(lines)), show.Count(total)))
	}
	return c.own(shape.Answer{Header: header, Value: v, Printed: true})
}

// own answers with what is read of no result.
func (c *call) own(a shape.Answer) (json.RawMessage, error) {
	return c.opts.Shaper.Answer(c.agent, cache.Origin{Tool: c.tool, Arguments: c.arguments, ReadOnly: true, Terms: c.terms}, a)
}

// describeTools is proxy_describe_tools: what they take.
type describeTools struct{ names []string }

func (d *describeTools) params() []param {
	return []param{{"names", stringList, &d.names, `["…"]`}}
}

func (d *describeTools) answer(ctx context.Context, c *call) (json.RawMessage, error) {
	switch {
	case len(d.names) == 0:
		return nil, misused(c.tool, "names is missing")
	case len(d.names) > maxDescribed:
		return nil, misused(c.tool, "%d names; at most %d are allowed", len(d.names), maxDescribed)
	}
	all, err := c.reach.Catalogue.Describe(ctx, d.names)
	if err != nil {
		return nil, err
	}
	v := pipeline.Value{Kind: pipeline.JSON, Items: len(all), Total: len(all), Unit: "tools"}
	for _, definition := range all {
		v.Data = append(append(v.Data, definition...), '\n')
	}
	v.Data = v.Data[:len(v.Data)-1]
	if len(all) > 1 {
		v.Kind = pipeline.Text // a line each
	}
	return c.own(shape.Answer{Value: v, Printed: true, Whole: true})
}

// callTool is proxy_call_tool: a call of another tool.
type callTool struct {
	name      string
	arguments json.RawMessage
}

func (t *callTool) params() []param {
	return []param{
		{"name", aString, &t.name, `"…"`},
		{"arguments", `"type":"object"`, &t.arguments, ""},
	}
}

func (t *callTool) answer(ctx context.Context, c *call) (json.RawMessage, error) {
	switch {
	case t.name == "":
		return nil, misused(c.tool, "name is missing")
	case c.Has(t.name):
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf("%s calls tools of servers, and %s is the proxy's own", c.tool, t.name),
			Hint: "call " + show.ClipBytes(t.name, 80) + " itself"}
	}
	return c.reach.Catalogue.Call(ctx, t.name, t.arguments)
}
