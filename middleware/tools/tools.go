// Package tools answers proxy_explore, proxy_filter and proxy_search: what an
// agent asks of a result that the cache keeps, or of a fresh call's.
//
//	arguments ─► source (cache_id, or tool and arguments) ─► document ─► pipeline ─► shape.Answer
//
// It knows agents by their names, and nothing of clients, sessions or servers.
package tools

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/script"
)

// A FreshCaller calls tools of servers for a query that names one instead of a
// cache_id.
type FreshCaller interface {
	// FreshCall returns the result of a tool, under the name that agents know, and
	// the call that the cache is to name as its origin. It refuses tools that the
	// operator does not let queries call.
	FreshCall(ctx context.Context, tool string, arguments json.RawMessage) (json.RawMessage, cache.Origin, error)
	// Kept hears under which id the result of a FreshCall is kept.
	Kept(ctx context.Context, id cache.ID)
}

// A Healer makes the call again whose result the cache has no more.
type Healer interface {
	// Heal returns where the result is now that an agent has asked for, of which gone says
	// that it has expired or was evicted. A zero Healed without an error says that nothing
	// was called. The error says both what is gone and why that call failed.
	Heal(ctx context.Context, gone *pipeline.Error) (Healed, error)
}

// Healed is a result that was fetched again.
type Healed struct {
	ID   cache.ID
	Line string // what was done, for the agent, without brackets; empty: nothing had to be
	// Question, if not nil, is the answer of the request: the server wants input first.
	Question json.RawMessage
}

// Options configures [Tools]. All fields but Programs are required.
type Options struct {
	Shaper *shape.Shaper
	// QueryTimeout bounds the work of proxy_filter and proxy_explore on a result,
	// SearchTimeout that of proxy_search.
	QueryTimeout, SearchTimeout time.Duration
	// Programs runs the programs of agents. Nil: proxy_run is off.
	Programs script.Runner
}

// Tools answers calls of proxy_*. It is safe for concurrent use.
type Tools struct{ opts Options }

// New returns Tools.
func New(opts Options) *Tools { return &Tools{opts} }

// A tool is one of ours with the arguments of one call.
type tool interface {
	// params are what it takes, and where it goes.
	params() []param
	// answer answers the call, once params are filled in.
	answer(ctx context.Context, c *call) (json.RawMessage, error)
}

// Names are those of our tools for results; CatalogueNames and ProxyNames have the others. A
// new one has a case in newTool, its parameters beside its answer, and a description in
// definitions.go.
var Names = []string{"proxy_explore", "proxy_filter", "proxy_search"}

// Reserved are the names of all tools of ours, whether or not they are switched on: no tool of
// a server gets one.
func Reserved() []string { return slices.Concat(Names, CatalogueNames, ProxyNames) }

// forResults reports whether a tool of ours is for results.
func forResults(name string) bool { return slices.Contains(Names, name) || name == "proxy_ask" }

// newTool returns the tool of a name, without arguments, or nil.
func newTool(name string) tool {
	switch name {
	case "proxy_explore":
		return new(explore)
	case "proxy_filter":
		return new(filter)
	case "proxy_search":
		return new(search)
	case "proxy_find_tools":
		return new(findTools)
	case "proxy_describe_tools":
		return new(describeTools)
	case "proxy_call_tool":
		return new(callTool)
	case "proxy_ask":
		return new(ask)
	case "proxy_run":
		return new(run)
	case "proxy_stats":
		return new(statistics)
	case "proxy_upstreams":
		return new(upstreams)
	case "proxy_tools":
		return new(toolbox)
	}
	return nil
}

// paramsOf are the parameters of a tool of ours, for nobody.
func paramsOf(name string) []param { return newTool(name).params() }

// A Reach is what a call of our tools can do beyond the cache, for the client that makes it.
type Reach struct {
	Fresh     FreshCaller // nil: no tool may be called
	Healer    Healer      // nil: what is gone stays gone
	Catalogue Catalogue   // required for the tools of CatalogueNames
	// Statistics is what the proxy has counted, for an agent to read. Nil: proxy_stats is off.
	Statistics func() string
	// Upstreams are what there is to change of servers. Nil: proxy_upstreams is off.
	Upstreams Upstreams
	// Toolbox is what there is to change of tools made at run time. Nil: proxy_tools is off.
	Toolbox Toolbox
	// Programs switches proxy_run on.
	Programs bool
	// State is that of programs. Nil: they keep none.
	State State
	// Explain is the error of a call that a program made, as it reads it. Nil: as it is.
	Explain func(tool string, err error) error
	// Judge asks the sub-model for this client. Nil: there is none, and proxy_ask is off.
	Judge Judge
	// NoModel says that the arguments have what the sub-model may not read.
	NoModel bool
}

// A call is one call of a tool of ours.
type call struct {
	*Tools
	agent     string
	terms     string // when it began
	tool      string
	arguments json.RawMessage // nil: none
	reach     Reach
	healed    []string // lines that say what was called again
	acted     bool     // by a program: a tool was called that may have changed something, or the sub-model asked
	noModel   bool     // something was read that the sub-model may not read, nor what is made of it
}

// Has reports whether name is one of our tools.
func (t *Tools) Has(name string) bool { return newTool(name) != nil }

// Call answers a call of one of our tools with the result of a tools/call. Its
// errors are a [pipeline.Error] or those of reach.
func (t *Tools) Call(ctx context.Context, agent, name string, arguments json.RawMessage, reach Reach) (json.RawMessage, error) {
	tool := newTool(name)
	params := tool.params()
	err := decodeArgs(name, arguments, params)
	var raw json.RawMessage
	if err == nil {
		raw, err = tool.answer(ctx, &call{Tools: t, agent: agent, terms: t.opts.Shaper.Terms(), tool: name, arguments: arguments, reach: reach})
	}
	if reach.Fresh == nil && forResults(name) {
		params = withoutFresh(params)
	}
	return raw, righted(name, arguments, params, err)
}
