package locate

import (
	"bytes"
	"context"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
)

// withTry is at with a ? behind each step on which jq, run over v, would stop.
// What jq passes on as null, as for a missing key, may stop it later.
func withTry(ctx context.Context, v doc.Value, at doc.Path) (doc.Path, error) {
	t := &trier{tick: doc.Ticker{Ctx: ctx}, path: slices.Clone(at)}
	if v.Kind == doc.JSON {
		t.walk(bytes.TrimSpace(v.Data), 0)
	} else if len(at) > 0 {
		for i, e := range doc.Items(v) {
			if at[0].Kind == doc.StepEach || at[0].Index == i {
				t.walk(e, 1)
			}
		}
	}
	return t.path, t.err
}

// A trier goes along a path as jq does: no array and no string is implied.
type trier struct {
	tick doc.Ticker
	path doc.Path
	err  error
}

// walk applies the steps from i on to value.
func (t *trier) walk(value []byte, i int) {
	if t.err == nil {
		t.err = t.tick.Err()
	}
	if t.err != nil || i == len(t.path) {
		return
	}
	kind := jsonscan.Kind(value)
	switch s := &t.path[i]; {
	case s.Kind == doc.StepEach && kind == '[':
		for _, e := range jsonscan.Items(value) {
			t.walk(e, i+1)
		}
	case s.Kind == doc.StepEach && kind == '{':
		for _, e := range jsonscan.Fields(value) {
			t.walk(e, i+1)
		}
	case s.Kind == doc.StepIndex && (kind == '[' || kind == 'n'):
		t.walk(elementAt(value, s.Index), i+1)
	case s.Kind == doc.StepKey && (kind == '{' || kind == 'n'):
		found := []byte("null")
		for key, e := range jsonscan.Fields(value) {
			if jsonscan.Unquote(key) == s.Key {
				found = e // the last of several, as in jq
			}
		}
		t.walk(found, i+1)
	case s.Kind == doc.StepJSON && kind == '"':
		// fromjson takes scalars too, which is more than [doc.EnterString] does.
		if inner := []byte(jsonscan.Unquote(bytes.TrimSpace(value))); jsonscan.Valid(inner, doc.MaxDepth) {
			t.walk(bytes.TrimSpace(inner), i+1)
			return
		}
		s.Try = true
	case s.Kind == doc.StepIndex && kind == '"':
		// gojq takes a character of a string, where jq stops.
		s.Try = true
		char := []byte("null")
		n := 0
		for _, r := range jsonscan.Unquote(bytes.TrimSpace(value)) {
			if n == s.Index {
				char = jsonscan.AppendQuote(nil, string(r))
				break
			}
			n++
		}
		t.walk(char, i+1)
	default:
		s.Try = true
	}
}

// elementAt is null where jq says so: beyond the end, and of null.
func elementAt(value []byte, index int) []byte {
	for i, e := range jsonscan.Items(value) {
		if i == index {
			return e
		}
	}
	return []byte("null")
}
