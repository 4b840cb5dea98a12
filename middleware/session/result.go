package session

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
)

// complete adds to a result what revision 2026-07-28 wants and older servers do not
// send: resultType, who answers, and how long a list may be kept, each where it has
// none yet. Values keep their bytes.
func complete(result json.RawMessage, serverInfo json.RawMessage) (json.RawMessage, error) {
	has := map[string]bool{}
	out, err := jsonscan.Rewrite(result, func(key string, value json.RawMessage) json.RawMessage {
		has[key] = true
		if key == "_meta" && value[0] == '{' {
			has["meta object"] = true
			if jsonscan.Member(value, mcp.MetaKeyServerInfo) == nil {
				return withFirst(value, mcp.MetaKeyServerInfo, serverInfo)
			}
		}
		return value
	})
	if err != nil {
		return nil, err
	}
	out = out[:len(out)-1]
	if !has["meta object"] {
		out = jsonscan.AppendMember(out, "_meta", jsonscan.Object(mcp.MetaKeyServerInfo, serverInfo))
	}
	if !has["resultType"] {
		out = jsonscan.AppendMember(out, "resultType", []byte(`"complete"`))
	}
	if slices.ContainsFunc(cacheable, func(key string) bool { return has[key] }) {
		// Lists and resources say how long they hold (SEP-2549): not at all, and for
		// nobody else.
		if !has["ttlMs"] {
			out = jsonscan.AppendMember(out, "ttlMs", []byte("0"))
		}
		if !has["cacheScope"] {
			out = jsonscan.AppendMember(out, "cacheScope", []byte(`"private"`))
		}
	}
	return append(out, '}'), nil
}

// cacheable are the members by which results are known that say how long they hold.
var cacheable = []string{"tools", "prompts", "resources", "resourceTemplates", "contents", "supportedVersions"}

// withFirst returns an object with one more member in front. All else keeps its bytes.
func withFirst(object json.RawMessage, key string, value []byte) json.RawMessage {
	out := jsonscan.Object(key, value)
	rest := bytes.TrimSpace(object)[1:]
	if bytes.TrimSpace(rest)[0] == '}' {
		return out
	}
	return append(append(out[:len(out)-1], ','), rest...)
}
