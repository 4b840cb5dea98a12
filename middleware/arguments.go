package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// maxHandles bounds the handles in one call.
const maxHandles = 16

// handleBegin is how a string of JSON that is a handle begins, also as encoders write it that
// escape slashes, as PHP's and Apple's do.
const handleBegin = "rlmproxy:"

// withContents returns the params of a call of t in which each string argument that is a
// handle, rlmproxy://cache/ID, is replaced by what the agent's handle stands for: data goes
// from one tool to another without passing through a model. All else keeps its bytes. Of is
// for healerOf.
//
// NoModel says that some of this data is kept from the sub-model: so is what the tool makes of it,
// and an error, which may quote it.
func (s *Server) withContents(ctx context.Context, r *session.Request, t target, params json.RawMessage, of *heals) (_ json.RawMessage, noModel bool, err error) {
	arguments := jsonscan.Member(params, "arguments")
	if t.up.NoHandles || len(arguments) == 0 || arguments[0] != '{' || !bytes.Contains(arguments, []byte(`"`+handleBegin)) {
		return params, false, nil
	}
	// What the request answers to a server is for this call, and not for one before it.
	first := *r
	first.Params = nil
	schema := gjson.GetBytes(t.tool.Raw, "inputSchema").Raw
	healer, total, n := s.healerOf(&first, of), int64(len(params)), 0
	arguments, err = replaceStrings(arguments, func(at []step, quoted json.RawMessage) (json.RawMessage, error) {
		h, ok := shape.ParseHandle(jsonscan.Unquote(quoted))
		if !ok {
			return quoted, nil
		}
		if n++; n > maxHandles {
			return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf("more than %d arguments are rlmproxy://cache/ID", maxHandles)}
		}
		content, err := s.tools.Content(ctx, r.Session.Agent, h, healer)
		noModel = noModel || content.NoModel
		if err != nil {
			return nil, argumentError(at, err)
		}
		value := content.Value
		switch types := typesAt(schema, at); {
		case len(types) == 0, slices.Contains(types, "string"):
			value = jsonscan.Quote(string(content.Text))
		case value == nil || !isOf(value, types):
			return nil, argumentError(at, &pipeline.Error{Code: pipeline.BadArguments,
				Text: fmt.Sprintf("%s takes %s here, but the cached data is %s", t.exposed, show.ClipBytes(strings.Join(types, " or "), 80), kindOf(value)),
				Hint: "select with ?jq=PROGRAM after the ID"})
		}
		if total += int64(len(value)); total > s.opts.MaxLineBytes {
			return nil, argumentError(at, &pipeline.Error{Code: pipeline.LimitMemory,
				Text: fmt.Sprintf("with the cached data, %s bytes, the call has more than %s", show.Count(len(value)), show.Count(int(s.opts.MaxLineBytes))),
				Hint: "select less with ?jq=PROGRAM after the ID"})
		}
		observe.Of(ctx).Replaced(observe.Handle{Argument: pathOf(at), CacheID: h.ID, Bytes: len(value)})
		return value, nil
	})
	if err != nil || n == 0 {
		return params, noModel, err
	}
	hold := guard.HoldOf(ctx)
	if err := hold.Take(ctx, total); err != nil {
		return nil, noModel, err
	}
	hold.Rest() // it is the server that works now
	params, err = jsonscan.Rewrite(params, func(key string, value json.RawMessage) json.RawMessage {
		if key == "arguments" {
			return arguments
		}
		return value
	})
	return params, noModel, err
}

// argumentError is err, about the argument at a place.
func argumentError(at []step, err error) error {
	var e *pipeline.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	out.Text = pathOf(at) + ": " + out.Text
	return &out
}

// A step leads from a value of JSON into it: to a member, by its key as written, or to an
// element.
type step struct {
	key   json.RawMessage // nil: an element, or a key is yet to come
	index int             // -1: of an object
}

// pathOf is a place in arguments for people.
func pathOf(at []step) string {
	var b strings.Builder
	b.WriteString("arguments")
	for _, s := range at {
		if s.index >= 0 {
			fmt.Fprintf(&b, "[%d]", s.index)
		} else {
			b.WriteString("." + show.ClipBytes(jsonscan.Unquote(s.key), 60))
		}
	}
	return show.ClipBytes(b.String(), 200)
}

// replaceStrings returns doc, which is JSON, with each string as f returns it that begins with
// handleBegin and is no key. At is valid for the call.
func replaceStrings(doc json.RawMessage, f func(at []step, quoted json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	var out []byte
	done := 0
	var at []step
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '{':
			at = append(at, step{index: -1})
		case '[':
			at = append(at, step{})
		case '}', ']':
			at = at[:len(at)-1]
		case ',':
			if in := &at[len(at)-1]; in.index < 0 {
				in.key = nil
			} else {
				in.index++
			}
		case '"':
			end := jsonscan.SkipString(doc, i)
			quoted := doc[i:end]
			if in := len(at) - 1; in >= 0 && at[in].index < 0 && at[in].key == nil {
				at[in].key = quoted
			} else if bytes.HasPrefix(quoted[1:], []byte(handleBegin)) {
				value, err := f(at, quoted)
				if err != nil {
					return nil, err
				}
				out = append(append(out, doc[done:i]...), value...)
				done = end
			}
			i = end - 1
		}
	}
	return append(out, doc[done:]...), nil
}

// typesAt returns the types that a JSON schema allows at a place, none if it does not
// say. It looks at no more than a schema of people has.
func typesAt(schema string, at []step) []string {
	var types []string
	left := 500
	var look func(s gjson.Result, at []step)
	look = func(s gjson.Result, at []step) {
		if left--; left < 0 || !s.IsObject() {
			return
		}
		if ref, ok := strings.CutPrefix(s.Get(`$ref`).String(), "#/"); ok {
			to := gjson.Parse(schema)
			for name := range strings.SplitSeq(ref, "/") {
				to = to.Get(gjson.Escape(strings.NewReplacer("~1", "/", "~0", "~").Replace(name)))
			}
			look(to, at)
		}
		for _, any := range []string{"anyOf", "oneOf", "allOf"} {
			for _, one := range s.Get(any).Array() {
				look(one, at)
			}
		}
		switch {
		case len(at) == 0 && s.Get("type").IsArray():
			for _, t := range s.Get("type").Array() {
				types = append(types, t.String())
			}
		case len(at) == 0 && s.Get("type").Exists():
			types = append(types, s.Get("type").String())
		case len(at) == 0:
		case at[0].index >= 0:
			if of := s.Get("prefixItems").Array(); at[0].index < len(of) {
				look(of[at[0].index], at[1:])
			} else {
				look(s.Get("items"), at[1:])
			}
		default:
			if of := s.Get("properties." + gjson.Escape(jsonscan.Unquote(at[0].key))); of.Exists() {
				look(of, at[1:])
			} else {
				look(s.Get("additionalProperties"), at[1:])
			}
		}
	}
	look(gjson.Parse(schema), at)
	return types
}

// isOf reports whether a value is of one of the types.
func isOf(value json.RawMessage, types []string) bool {
	kind := kindOf(value)
	return slices.Contains(types, kind) || kind == "number" && slices.Contains(types, "integer") && !bytes.ContainsAny(value, ".eE")
}

// kindOf is the type of a value in the words of JSON schema, of nil that of a text.
func kindOf(value json.RawMessage) string {
	switch jsonscan.Kind(value) {
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	case '"', 0:
		return "string"
	}
	return "number"
}
