package tools

import (
	"fmt"
	"strings"
)

// Instructions tell an agent when to use which tool. Every conversation pays
// for them, as for the definitions below: a test counts the tokens of both.
const Instructions = `Long results are cut: line 1 then reads [cut: … cache_id=ID]. The rest is not lost. With that id use
proxy_explore for structure, proxy_filter for fields, jq or pages, proxy_search to find text.
Never treat a cut result as complete. Each reply may itself be cut and have its own id.`

var descriptions = []struct{ tool, text string }{
	{"proxy_explore", "Show the structure of a cached result: types, fields, counts, outline."},
	{"proxy_filter", "Select from a cached result: fields (items.user.name reaches into arrays) or a jq program; page with offset and limit, or get it whole. format text: strings unquoted."},
	{"proxy_search", "Search a cached result: regex (RE2), bm25 (ranked words), fuzzy (misspelt), context (paragraph around a regex), paths (where only)."},
}

// Definitions returns the definitions of our tools, as tools/list has them.
// fresh says that they call tools, readOnly that none of those changes anything, handles
// that some tools take handles as arguments.
func Definitions(fresh, readOnly, handles bool) []string {
	var all []string
	for _, d := range descriptions {
		if handles && d.tool == "proxy_filter" {
			d.text += ` In a tool's arguments, the string "rlmproxy://cache/ID?jq=PROGRAM" becomes that data.`
		}
		var properties []string
		params := paramsOf(d.tool)
		if !fresh {
			params = withoutFresh(params)
		}
		for _, p := range params {
			if p.schema == "" {
				continue
			}
			properties = append(properties, fmt.Sprintf("%q:{%s}", p.name, p.schema))
		}
		all = append(all, fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{%s},"additionalProperties":false},"annotations":{"readOnlyHint":%t}}`,
			d.tool, d.text, strings.Join(properties, ","), readOnly))
	}
	return all
}
