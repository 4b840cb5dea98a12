package tools

import (
	"fmt"
	"strings"
)

// Instructions tell an agent when to use which tool. Every conversation pays
// for them, as for the schemas below: a test counts the tokens of both.
const Instructions = `Long results are cut: line 1 then reads [cut: … cache_id=ID]. The rest is not lost. With that id use
proxy_explore for structure, proxy_filter for fields, jq or pages, proxy_search to find text.
Never treat a cut result as complete. Each reply may itself be cut and have its own id.`

// sourceSchema is shared by all three tools.
const sourceSchema = `"cache_id":{"type":"string"},` +
	`"tool":{"type":"string","description":"instead of cache_id: tool to call first"},` +
	`"arguments":{"type":"object"},"block":{"type":"integer"}`

const narrowSchema = `"fields":{"type":"array","items":{"type":"string"}},"exclude":{"type":"array","items":{"type":"string"}},"jq":{"type":"string"}`

// Definitions returns the definitions of our tools, as tools/list has them.
// readOnly says that no tool that they may call changes anything.
func Definitions(readOnly bool) []string {
	annotations := fmt.Sprintf(`{"readOnlyHint":%t}`, readOnly)
	define := func(name, description, params string) string {
		return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{%s,%s},"additionalProperties":false},"annotations":%s}`,
			name, strings.ReplaceAll(description, "\n", " "), sourceSchema, params, annotations)
	}
	return []string{
		define("proxy_explore", "Show the structure of a cached result: types, fields, counts, outline.",
			`"path":{"type":"string"},"max_depth":{"type":"integer","default":3}`),
		define("proxy_filter", "Select from a cached result: fields (dotted, arrays implied: items.user.name) or a jq program; page with offset and limit.",
			narrowSchema+`,"mode":{"enum":["include","exclude"]},"offset":{"type":"integer"},"limit":{"type":"integer"},"format":{"enum":["json","table","lines","text"]}`),
		define("proxy_search", "Search a cached result: regex, bm25 (ranked words), fuzzy (misspelt), context (whole units around a regex).",
			`"pattern":{"type":"string"},"mode":{"enum":["regex","bm25","fuzzy","context"],"default":"regex"},`+
				`"max_results":{"type":"integer"},"context_lines":{"type":"integer"},"case_insensitive":{"type":"boolean"},`+
				`"threshold":{"type":"number","default":0.7},"top_k":{"type":"integer","default":5},`+
				`"context_type":{"enum":["paragraph","section","sentence","lines","record"]},`+narrowSchema),
	}
}
