package config

import (
	"fmt"
	"slices"
	"time"
)

// toolKeys are the keys below tools.
var toolKeys = []string{"shape", "timeout", "maxResponseTokens", "fields", "exclude", "jq", "hide"}

// tools reads the settings of a server by tool name or glob. The section is
// ours alone, so an unknown key in it is a mistake.
func (r *reader) tools(n node) map[string]Tool {
	members, _ := r.object(n)
	if len(members) == 0 {
		return nil
	}
	tools := map[string]Tool{}
	for _, m := range members {
		r.glob(m.offset, m.value.path, m.key)
		tools[m.key] = r.tool(m.value)
	}
	return tools
}

func (r *reader) tool(n node) Tool {
	var t Tool
	members, _ := r.object(n)
	for _, m := range members {
		switch v := m.value; m.key {
		case "shape":
			shape := r.truth(v)
			t.Shape = &shape
		case "timeout":
			r.timeout(v, &t.Timeout)
		case "maxResponseTokens":
			t.MaxResponseTokens = r.tokens(v)
		case "fields":
			t.Fields = r.texts(v)
		case "exclude":
			t.Exclude = r.texts(v)
		case "hide":
			t.Hide = r.texts(v)
		case "jq":
			t.JQ = r.text(v)
		default:
			if !slices.Contains(foreignKeys, m.key) {
				r.mistakeAt(m.offset, v.path, "unknown key", didYouMean(m.key, toolKeys))
			}
		}
	}
	if t.JQ != "" && len(t.Fields)+len(t.Exclude) > 0 {
		r.mistake(n, "jq is set together with fields or exclude", "keep one: jq can select fields itself")
	}
	return t
}

// timeout reads seconds. Zero means not set.
func (r *reader) timeout(n node, d *time.Duration) {
	if string(n.literal()) == "0" {
		return
	}
	if value, ok := r.parsed(n, duration, true).(time.Duration); ok {
		*d = value
		// Some hosts count a timeout in milliseconds. No call takes an hour.
		if n.literal().Kind() == '0' && value > time.Hour {
			r.warn(n.value.StartOffset, n.path, fmt.Sprintf("counted in seconds, this is %v", value), "")
		}
	}
}

// tokens reads a limit. Zero means not set.
func (r *reader) tokens(n node) int {
	value, _ := r.parsed(n, whole(0, 1<<31-1), false).(int64)
	return int(value)
}
