package pipeline

import (
	"context"
	"strconv"
)

// NextCalls returns one or two calls that are useful for v, complete and
// ready to send: tool, space, arguments as JSON. id is the cache ID of v.
func NextCalls(v Value, id string) []string {
	if rows, ok, err := csvRecords(context.Background(), v); ok && err == nil {
		return jsonCalls(rows, id)
	}
	if v.Kind == Text {
		return textCalls(v, id)
	}
	return jsonCalls(v, id)
}

func textCalls(v Value, id string) []string {
	explore := call("proxy_explore", id)
	switch guessFormat(v.Data).name {
	case "log":
		return []string{call("proxy_search", id, "pattern", quoted("error|warn|fail"), "case_insensitive", "true", "context_lines", "2"), explore}
	case "binary":
		return []string{explore}
	}
	if n := countLines(v.Data); n > 20 {
		return []string{explore, call("proxy_filter", id, "offset", strconv.Itoa(n/2), "limit", "20")}
	}
	return []string{explore}
}

// call writes a call; values are JSON already.
func call(tool, id string, args ...string) string {
	b := append([]byte(tool), ` {"cache_id":`...)
	b = appendQuoted(b, id)
	for i := 0; i < len(args); i += 2 {
		b = append(appendQuoted(append(b, ','), args[i]), ':')
		b = append(b, args[i+1]...)
	}
	return string(append(b, '}'))
}

func quoted(s string) string { return string(appendQuoted(nil, s)) }
