package config

import (
	"fmt"
	"slices"
	"time"
)

// toolKeys are the keys below tools.
var toolKeys = []string{"shape", "timeout", "maxResponseTokens", "rateLimit", "concurrency", "fields", "exclude", "jq", "hide"}

// tools reads the settings of a server by tool name or glob. The section is
// ours alone, so an unknown key in it is a mistake.
func (r *reader) tools(n node) map[string]Tool {
	members, _ := r.object(n)
	if len(members) == 0 {
		return nil
	}
	tools := map[string]Tool{}
	for _, m := range members {
		r.checkGlob(m.atKey(), m.key)
		tools[m.key] = r.tool(m)
	}
	return tools
}

// tool reads the settings of one tool, or glob. A new key has a place in toolKeys and in
// forms of schema.go, a case here, a field of [Tool], a line in served of cmd/rlmproxy and, where calls are routed, in
// middleware.Policy; if it is about answers, in shape.Policy too.
func (r *reader) tool(entry node) Tool {
	var t Tool
	members, _ := r.object(entry)
	for _, n := range members {
		switch n.key {
		case "shape":
			t.Shape = r.truth(n)
		case "timeout":
			t.Timeout = r.timeout(n)
		case "maxResponseTokens":
			t.MaxResponseTokens = r.responseTokens(n)
		case "rateLimit":
			t.RateLimit = r.whole(n, 1, mostCalls)
		case "concurrency":
			t.Concurrency = r.whole(n, 1, mostCalls)
		case "fields":
			t.Fields = r.paths(n)
		case "exclude":
			t.Exclude = r.paths(n)
		case "hide":
			t.Hide = r.hidden(n)
		case "jq":
			t.JQ = r.program(n)
		default:
			if !slices.Contains(foreignKeys, n.key) {
				r.mistake(n.atKey(), "unknown key", didYouMean(n.key, toolKeys))
			}
		}
	}
	if t.JQ != "" && len(t.Fields)+len(t.Exclude) > 0 {
		r.mistake(entry, "jq is set together with fields or exclude", "keep one: jq can select fields itself")
	}
	return t
}

// mostCalls is above what any server answers in a minute.
const mostCalls = 1_000_000

// responseTokens reads a limit. Zero means not set.
func (r *reader) responseTokens(n node) int {
	value, _ := r.parsed(n, zeroOr(whole(leastTokens, mostTokens)), false).(int64)
	return int(value)
}

// timeout reads seconds. Zero means not set.
func (r *reader) timeout(n node) time.Duration {
	if string(n.literal()) == "0" {
		return 0
	}
	value, _ := r.parsed(n, durationIn(leastTimeout, maxDuration), true).(time.Duration)
	// Some hosts count a timeout in milliseconds. No call takes an hour.
	if n.kind() == '0' && value > time.Hour {
		r.warn(n, fmt.Sprintf("counted in seconds, this is %v", value), "")
	}
	return value
}
