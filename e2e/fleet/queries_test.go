package fleet

import "fmt"

// longRows is how many rows a long result has: some 14,000 bytes.
const longRows = 150

// newArgs are the arguments of a call by a client of a revision.
func newArgs(agent, call, revision string) callArgs {
	a := callArgs{Agent: agent, Call: call, Rows: longRows, By: "elicitation", Pause: 200}
	if revision < "2025-06-18" {
		a.By = "sampling"
	}
	return a
}

// queries are what agents ask about a long result, which was made by a call.
var queries = []struct {
	name, tool string
	args       func(id string, call callArgs, row int) map[string]any
	want       func(call callArgs, row int) string // stands in a right answer
}{
	{"jq", "proxy_filter", func(id string, _ callArgs, row int) map[string]any {
		return map[string]any{"cache_id": id, "jq": fmt.Sprintf(".[%d].word", row)}
	}, func(call callArgs, row int) string { return fmt.Sprintf("%q", word(call, row)) }},
	{"page", "proxy_filter", func(id string, _ callArgs, row int) map[string]any {
		return map[string]any{"cache_id": id, "offset": row, "limit": 1}
	}, func(call callArgs, row int) string { return fmt.Sprintf(`"row":%d,`, row) }},
	{"search", "proxy_search", func(id string, call callArgs, row int) map[string]any {
		return map[string]any{"cache_id": id, "pattern": word(call, row)}
	}, word},
	{"explore", "proxy_explore", func(id string, _ callArgs, _ int) map[string]any {
		return map[string]any{"cache_id": id}
	}, func(call callArgs, _ int) string { return word(call, 0) }},
	{"whole", "proxy_filter", func(id string, _ callArgs, _ int) map[string]any {
		return map[string]any{"cache_id": id, "format": "text", "whole": true}
	}, func(call callArgs, _ int) string { return rows(call) }},
}
