package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// A param is one parameter of a proxy_* tool: where it goes, and how a right
// one looks.
type param struct {
	name    string
	into    any // *string, *int, *float64, *bool, *[]string or *json.RawMessage
	example string
}

// decodeArgs reads arguments strictly: an agent that mistypes a parameter must
// hear of it, not get an answer to another question. Null means absent.
func decodeArgs(tool string, args json.RawMessage, params []param) error {
	if len(args) == 0 || string(args) == "null" {
		return nil
	}
	object := objectOf(args)
	if object == nil {
		return badArgs(tool, params, "arguments must be an object")
	}
	args = object
	return jsonscan.Members(args, func(key string, value json.RawMessage) error {
		i := slices.IndexFunc(params, func(p param) bool { return p.name == key })
		switch {
		case i < 0:
			text := fmt.Sprintf("no parameter %q", show.ClipBytes(key, 60))
			if pageNumber(key) && tool == "proxy_filter" {
				return badArgs(tool, params, text+`; "offset" and "limit" count items, or lines`)
			}
			if near := meant(key, params); near != "" {
				return badArgs(tool, params, text+fmt.Sprintf("; did you mean %q?", near))
			}
			if other := takes(key); other != "" {
				e := badArgs(other, nil, "")
				e.Text = fmt.Sprintf("%s: %s, but %s has %q", tool, text, other, meant(key, paramsOf(other)))
				return e
			}
			if near := nearest(key, params); near != "" {
				text += fmt.Sprintf("; did you mean %q?", near)
			}
			return badArgs(tool, params, text)
		case string(value) == "null":
			return nil
		}
		p := params[i]
		if raw, ok := p.into.(*json.RawMessage); ok {
			if *raw = objectOf(value); *raw != nil {
				return nil
			}
			return badArgs(tool, []param{p}, fmt.Sprintf("%q must be an object, not %s", p.name, show.ClipBytes(string(value), 80)))
		} else if json.Unmarshal(value, p.into) != nil {
			return badArgs(tool, []param{p}, fmt.Sprintf("%q must be %s, not %s", p.name, kindOf(p.into), show.ClipBytes(string(value), 80)))
		}
		return nil
	})
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
	}
	return "an object"
}

// badArgs is a bad_arguments error that shows a right call.
func badArgs(tool string, params []param, text string) *pipeline.Error {
	var b strings.Builder
	for _, p := range params {
		if p.name == "cache_id" || p.example == "" {
			continue
		}
		fmt.Fprintf(&b, ",%q:%s", p.name, p.example)
		if b.Len() > 200 {
			break
		}
	}
	return &pipeline.Error{
		Code: pipeline.BadArguments,
		Text: tool + ": " + text,
		Hint: fmt.Sprintf(`a right call: %s {"cache_id":"…"%s}`, tool, b.String()),
	}
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
