package preview

import (
	"context"
	"strconv"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/table"
)

// NextCall is an example of what an agent can call for v, complete and ready to
// send: tool, space, arguments as JSON. id is the cache ID of v. Of JSON and of tables
// it is "": their preview names the paths and shows the records that such a call would
// ask for, and no agent was seen to follow one.
func NextCall(v doc.Value, id string) string {
	if _, ok, err := table.Records(context.Background(), v); v.Kind != doc.Text || ok && err == nil {
		return ""
	}
	switch n := doc.CountLines(v.Data); {
	case n > 20:
		return call("proxy_filter", id, "offset", strconv.Itoa(n/2), "limit", "20")
	case n == 1: // pages of it
		return call("proxy_filter", id)
	}
	return call("proxy_explore", id)
}

// call writes a call; values are JSON already.
func call(tool, id string, args ...string) string {
	b := jsonscan.AppendMember([]byte("{"), "cache_id", jsonscan.Quote(id))
	for i := 0; i < len(args); i += 2 {
		b = jsonscan.AppendMember(b, args[i], []byte(args[i+1]))
	}
	return tool + " " + string(b) + "}"
}
