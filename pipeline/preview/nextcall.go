package preview

import (
	"context"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/records"
)

// NextCall is what an agent can call to read v, complete and ready to send: tool, space,
// arguments as JSON. id is the cache ID of v. It is "" where the preview names what can
// be asked for, fields or lines by number: no agent was seen to follow a call there. A
// text of one line has neither, but pages.
func NextCall(v doc.Value, id string) string {
	if v.Kind != doc.Text || doc.CountLines(v.Data) != 1 {
		return ""
	}
	if _, ok, err := records.Of(context.Background(), v); ok && err == nil {
		return ""
	}
	return "proxy_filter " + string(jsonscan.Object("cache_id", jsonscan.Quote(id)))
}
