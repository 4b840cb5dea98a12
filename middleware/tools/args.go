package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

// A param is one parameter of a proxy_* tool.
type param struct {
	name   string
	schema string // JSON Schema, without braces; "" for what is taken but not told of
	// into is where it goes: a *string, *int, *float64, *bool, *[]string,
	// *[]json.RawMessage or, for an object, *json.RawMessage.
	into any
	// example is what a right call shows that has none; empty if it needs none.
	example string
}

// The schemas that several parameters have.
const (
	aString    = `"type":"string"`
	integer    = `"type":"integer"`
	stringList = `"type":"array","items":{"type":"string"}`
)

// decodeArgs reads arguments strictly: an agent that mistypes a parameter must
// hear of it, not get an answer to another question. Null means absent.
func decodeArgs(tool string, args json.RawMessage, params []param) error {
	if len(args) == 0 || string(args) == "null" {
		return nil
	}
	object := objectOf(args)
	if object == nil {
		return misused(tool, "arguments must be an object")
	}
	return jsonscan.Members(object, func(key string, value json.RawMessage) error {
		i := slices.IndexFunc(params, func(p param) bool { return p.name == key })
		switch {
		case i < 0:
			return unknownParam(tool, key, params)
		case string(value) != "null" && !params[i].set(value):
			p := params[i]
			return misused(tool, "%q must be %s, not %s", p.name, kindOf(p.into), show.ClipBytes(string(value), 80))
		}
		return nil
	})
}

// set puts value where it goes. It reports false if it is of another type.
func (p param) set(value json.RawMessage) bool {
	if raw, ok := p.into.(*json.RawMessage); ok {
		*raw = objectOf(value)
		return *raw != nil
	}
	if n, ok := p.into.(*int); ok {
		var f float64 // 2.0 is 2
		if json.Unmarshal(value, &f) != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return false
		}
		*n = int(f)
		return true
	}
	if list, ok := p.into.(*[]json.RawMessage); ok && value[0] == '"' { // as agents write objects
		return json.Unmarshal([]byte(jsonscan.Unquote(value)), list) == nil
	}
	return json.Unmarshal(value, p.into) == nil
}

// unknownParam names the parameter that an agent may have meant, of this tool or
// of another one.
func unknownParam(tool, key string, params []param) error {
	unknown := fmt.Sprintf("no parameter %q", show.ClipBytes(key, 60))
	near := meant(key, params)
	switch other := takes(key); {
	case near == "" && Calls(tool):
		return misused(tool, `%s; what the called tool takes goes into "arguments"`, unknown)
	case pageNumber(key) && tool == "proxy_filter":
		return misused(tool, `%s; "offset" and "limit" count items, or lines`, unknown)
	case near == "" && other != "" && forResults(tool):
		return &misuse{other, fmt.Sprintf("%s: %s, but %s has %q", tool, unknown, other, meant(key, paramsOf(other)))}
	case near == "":
		near = nearest(key, params)
	}
	if near != "" {
		return misused(tool, "%s; did you mean %q?", unknown, near)
	}
	return misused(tool, "%s", unknown)
}

func kindOf(into any) string {
	switch into.(type) {
	case *string:
		return "a string"
	case *int:
		return "a whole number"
	case *float64:
		return "a number"
	case *bool:
		return "true or false"
	case *[]string:
		return "an array of strings"
	case *[]json.RawMessage:
		return "an array"
	}
	return "an object"
}

// A misuse is a call whose arguments are wrong. The agent is shown a right call of
// tool, which may be another one than it called.
type misuse struct{ tool, text string }

func (m *misuse) Error() string { return m.text }

// misused is the misuse of the tool that was called.
func misused(tool, format string, args ...any) error {
	return &misuse{tool, tool + ": " + fmt.Sprintf(format, args...)}
}

// objectOf is the object in value, which may be a string that holds its JSON, as
// agents often send it; nil if there is none.
func objectOf(value json.RawMessage) json.RawMessage {
	if value[0] == '"' {
		value = bytes.TrimSpace(jsonscan.AppendUnquoted(nil, value))
	}
	if len(value) == 0 || value[0] != '{' || !json.Valid(value) {
		return nil
	}
	return value
}

// nearest returns the parameter that key is another name of, or spelt most like it,
// if any is near.
func nearest(key string, params []param) string {
	if name := meant(key, params); name != "" {
		return name
	}
	best, dist := "", 4
	if len(key) > 60 {
		return best
	}
	for _, p := range params {
		if d := levenshtein.ComputeDistance(strings.ToLower(key), p.name); d < dist || strings.HasPrefix(p.name, key) && best == "" {
			best, dist = p.name, d
		}
	}
	return best
}
