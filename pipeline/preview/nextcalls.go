package preview

import (
	"context"
	"strconv"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/table"
)

// NextCalls returns one or two calls that are useful for v, complete and
// ready to send: tool, space, arguments as JSON. id is the cache ID of v.
func NextCalls(v doc.Value, id string) []string {
	if rows, ok, err := table.Records(context.Background(), v); ok && err == nil {
		return jsonCalls(rows, id)
	}
	if v.Kind == doc.Text {
		return textCalls(v, id)
	}
	return jsonCalls(v, id)
}

// textCalls are those of the digest, or a look at the middle.
func textCalls(v doc.Value, id string) []string {
	d, err := digestOf(context.Background(), v)
	if err != nil { // cannot be: nothing ends this context
		return nil
	}
	var calls []string
	for _, c := range d.Calls {
		calls = append(calls, call(c.Tool, id, c.Args...))
	}
	n := doc.CountLines(v.Data)
	switch {
	case len(calls) >= 2:
	case n == 1 && len(v.Data) > maxLineRunes: // no structure but the line: pages of it
		calls = append(calls, call("proxy_filter", id))
	default:
		calls = append(calls, call("proxy_explore", id))
	}
	if len(calls) < 2 && n > 20 {
		calls = append(calls, call("proxy_filter", id, "offset", strconv.Itoa(n/2), "limit", "20"))
	}
	return calls[:min(len(calls), 2)]
}

// call writes a call; values are JSON already.
func call(tool, id string, args ...string) string {
	b := append([]byte(tool), ` {"cache_id":`...)
	b = show.AppendQuote(b, id)
	for i := 0; i < len(args); i += 2 {
		b = append(show.AppendQuote(append(b, ','), args[i]), ':')
		b = append(b, args[i+1]...)
	}
	return string(append(b, '}'))
}
