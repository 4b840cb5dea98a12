package tools

import (
	"fmt"
	"strings"

	"rlmproxy/jsonscan"
)

// Instructions tell an agent when to use which tool. Every conversation pays
// for them, as for the definitions below: a test counts the tokens of both.
const Instructions = `Long results are cut: line 1 then reads [cut: … cache_id=ID]. The rest is not lost. With that id use
proxy_explore for structure, proxy_filter for fields, jq or pages, proxy_search to find text.
Never treat a cut result as complete. Each reply may itself be cut and have its own id.`

var descriptions = []struct{ tool, text string }{
	{"proxy_explore", "Show the structure of a cached result: types, fields, counts, outline."},
	{"proxy_filter", "Select from a cached result: fields (items.user.name reaches into arrays) or a jq program; page with offset and limit, or get it whole; keep gives it a cache_id. format text: strings unquoted."},
	{"proxy_search", "Search a cached result: regex (RE2), bm25 (ranked words), fuzzy (misspelt), context (paragraph around a regex), paths (where only)."},
}

// catalogueTools is what the tools of [CatalogueNames] say of themselves.
const (
	findText     = `Find tools by what they do: a line each with name and parameters. Use it before you say that something cannot be done. Without query: the servers; with server: its tools.`
	describeText = `Full descriptions and input schemas of tools, where the line of proxy_find_tools is not enough.`
	callText     = `Call a tool that proxy_find_tools named. arguments are the tool's own. To read only a part of what it returns, give its name as tool to proxy_filter or proxy_search instead.`
)

const askText = `A small model answers a question about each item of a cached result: you get counts, and a cache_id of the records with an answer column. For judgements that no filter can make.`

// AskDefinition is that of proxy_ask. fresh and readOnly are those of [Definitions].
func AskDefinition(fresh, readOnly bool) string {
	params := paramsOf("proxy_ask")
	if !fresh {
		params = withoutFresh(params)
	}
	return definition("proxy_ask", askText, params, "question", readOnly)
}

const statsText = `What the proxy saved: tokens, calls, errors, latency, by server and tool.`

// StatsDefinition is that of proxy_stats.
func StatsDefinition() string {
	return definition("proxy_stats", statsText, newTool("proxy_stats").params(), "", true)
}

const upstreamsText = `List the servers behind this proxy, or change which there are; all changes are made, or none, and the person is asked. server, to add or update: an entry as in mcp.json, {"command":"…","args":["…"],"env":{}} or {"url":"…"}; to update, only what changes (null removes a key).`

// UpstreamsDefinition is that of proxy_upstreams.
func UpstreamsDefinition() string {
	return definition("proxy_upstreams", upstreamsText, newTool("proxy_upstreams").params(), "", false)
}

const toolboxText = `Make tools for all agents. Changes need the revision that list shows. program: the body of a JavaScript function of args, which may await call(tool, arguments); or jq over the arguments, or over {args,result} of call {"tool":"…","arguments":"jq"}.`

// ToolboxDefinition is that of proxy_tools.
func ToolboxDefinition() string {
	return definition("proxy_tools", toolboxText, newTool("proxy_tools").params(), "action", false)
}

// A Stand describes what stands in for tools that an agent is not listed.
type Stand struct {
	Servers  string // what servers there are, in a few words or lines
	ReadOnly bool   // none of their tools does more than read, as far as they are trusted
}

// Definitions returns the definitions of the tools of CatalogueNames.
func (s Stand) Definitions() []string {
	find := findText
	if s.Servers != "" {
		find += " Servers: " + s.Servers
	}
	var all []string
	for _, d := range []struct {
		name, text string
		readOnly   bool
		required   string
	}{{CatalogueNames[0], find, true, ""}, {CatalogueNames[1], describeText, true, "names"}, {CatalogueNames[2], callText, s.ReadOnly, "name"}} {
		all = append(all, definition(d.name, d.text, newTool(d.name).params(), d.required, d.readOnly))
	}
	return all
}

// definition is that of a tool of ours, one of whose parameters may be required.
func definition(name, text string, params []param, required string, readOnly bool) string {
	var properties []string
	for _, p := range params {
		if p.schema != "" {
			properties = append(properties, fmt.Sprintf("%q:{%s}", p.name, p.schema))
		}
	}
	must := ""
	if required != "" {
		must = fmt.Sprintf(`"required":[%q],`, required)
	}
	return fmt.Sprintf(`{"name":%q,"description":%s,"inputSchema":{"type":"object","properties":{%s},%s"additionalProperties":false},"annotations":{"readOnlyHint":%t}}`,
		name, jsonscan.Quote(text), strings.Join(properties, ","), must, readOnly)
}

// Definitions returns the definitions of our tools for results, as tools/list has them.
// fresh says that they call tools, readOnly that none of those changes anything, handles
// that some tools take handles as arguments.
func Definitions(fresh, readOnly, handles bool) []string {
	var all []string
	for _, d := range descriptions {
		if handles && d.tool == "proxy_filter" {
			d.text += ` In a tool's arguments, the string "rlmproxy://cache/ID?jq=PROGRAM" becomes that data.`
		}
		params := paramsOf(d.tool)
		if !fresh {
			params = withoutFresh(params)
		}
		all = append(all, definition(d.tool, d.text, params, "", readOnly))
	}
	return all
}

const runText = `Run JavaScript over results, for what takes several steps. code is the body of a function: what it returns is kept like any result. No files, network or clock.
let state: object // kept for your next call
function result(id): any // JSON, else text
function lines(id): string[]
function jq(value, program: string): any[] // its outputs
function search(id, pattern, o?: {mode?, case_insensitive?, max_results?}): {path?, line?, text}[]
function call(tool: string, args?): any // throws
function callAll(calls: [tool, args][]): any[] // {error} in place of what failed
function ask(question, items: any[], o?: {labels?, type?, guide?}): any[]
function print(...values): void`

// RunDefinition is that of proxy_run. ReadOnly says that no tool that it calls changes anything.
func RunDefinition(readOnly bool) string {
	return definition("proxy_run", runText, newTool("proxy_run").params(), "code", readOnly)
}
