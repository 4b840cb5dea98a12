package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/show"
)

// Hide takes fields out of documents wherever they stand. It is for what an
// operator never wants an agent to see, so it does not depend on where a
// server puts its records: user.email names every email in a user, at any
// depth, arrays between them or not, also in a JSON string. Hide is safe for
// concurrent use.
type Hide struct {
	// paths by their last key, each without it, innermost key first.
	paths map[string][][]string
}

// NewHide is an [*Error] for a path that cannot be read or has an index.
func NewHide(fields []string) (*Hide, error) {
	h := &Hide{paths: map[string][][]string{}}
	for _, f := range fields {
		path, err := ParsePath(f)
		if err != nil {
			return nil, err
		}
		var keys []string
		for _, s := range path {
			switch s.Kind {
			case StepKey:
				keys = append(keys, s.Key)
			case StepIndex:
				return nil, badArguments("name the field alone", "hide %s: an index", show.Quote(show.Clip(f, 60)))
			}
		}
		if len(keys) == 0 {
			return nil, badArguments("name a field", "hide %s: no key", show.Quote(show.Clip(f, 60)))
		}
		slices.Reverse(keys)
		h.paths[keys[0]] = append(h.paths[keys[0]], keys[1:])
	}
	return h, nil
}

// Document returns data without the hidden fields, and data itself if it has
// none. JSON, JSON Lines and CSV have fields; other text is left as it is.
// What has them but is nested too deep to be searched is an error.
func (h *Hide) Document(ctx context.Context, data []byte) ([]byte, error) {
	v := Recognise(data, nil)
	w := &hider{hide: h, tick: ticker{ctx: ctx}}
	switch {
	case v.Kind == JSON && kindOf(data) != '"':
		return w.container(data)
	case v.Kind == JSON:
		return w.value(data)
	case v.Kind == JSONLines:
		return w.lines(data)
	}
	if k := kindOf(data); (k == '{' || k == '[') && json.Valid(data) {
		return nil, &Error{Code: LimitMemory, Text: "the result is nested too deep to hide fields in it"}
	}
	if _, header := digest.Columns(data); slices.ContainsFunc(header, h.names) {
		rows, ok, err := csvRecords(ctx, v)
		if err != nil || !ok {
			return data, err
		}
		return w.lines(rows.Data)
	}
	return data, nil
}

// names reports whether a field of this name is hidden wherever it is.
func (h *Hide) names(key string) bool {
	return slices.ContainsFunc(h.paths[key], func(above []string) bool { return len(above) == 0 })
}

// A hider walks one document. Every method returns its argument, not a copy,
// where nothing is hidden.
type hider struct {
	hide *Hide
	tick ticker
	at   []string // the keys to where it is, outermost first
}

// hides reports whether the member key of the object at w.at is hidden.
func (w *hider) hides(key string) bool {
	for _, above := range w.hide.paths[key] {
		if len(above) > len(w.at) {
			continue
		}
		same := true
		for i, k := range above {
			same = same && w.at[len(w.at)-1-i] == k
		}
		if same {
			return true
		}
	}
	return false
}

func (w *hider) lines(data []byte) ([]byte, error) {
	var out []byte
	changed := false
	for line := range records(data) {
		kept, err := w.container(line)
		if err != nil {
			return nil, err
		}
		changed = changed || !same(kept, line)
		out = append(append(out, kept...), '\n')
	}
	if !changed {
		return data, nil
	}
	return out, nil
}

// same reports whether a and b are the same memory.
func same(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

func (w *hider) value(value []byte) ([]byte, error) {
	switch kindOf(value) {
	case '{', '[':
		return w.container(value)
	case '"':
		inner, ok := enterString(value)
		if !ok {
			return value, nil
		}
		kept, err := w.container(inner)
		if err != nil || same(kept, inner) {
			return value, err
		}
		return show.AppendQuote(nil, string(kept)), nil
	}
	return value, nil
}

func (w *hider) container(data []byte) ([]byte, error) {
	if err := w.tick.err(); err != nil {
		return nil, ended(err)
	}
	data = bytes.TrimSpace(data)
	// out is made at the first difference, of what came before.
	var out []byte
	differ := func(part []byte) {
		if out == nil {
			out = append(make([]byte, 0, len(data)), data[:offsetIn(data, part)]...)
			out = bytes.TrimRight(out, ", \t\r\n")
		}
	}
	add := func(parts ...[]byte) {
		if c := out[len(out)-1]; c != '{' && c != '[' {
			out = append(out, ',')
		}
		for _, p := range parts {
			out = append(out, p...)
		}
	}
	colon := []byte{':'}
	if kindOf(data) == '[' {
		for _, e := range elements(data) {
			kept, err := w.value(e)
			if err != nil {
				return nil, err
			}
			if !same(kept, e) {
				differ(e)
			}
			if out != nil {
				add(kept)
			}
		}
		if out != nil {
			return append(out, ']'), nil
		}
		return data, nil
	}
	for key, e := range members(data) {
		name := unquote(key)
		if w.hides(name) {
			differ(key)
			continue
		}
		w.at = append(w.at, name)
		kept, err := w.value(e)
		w.at = w.at[:len(w.at)-1]
		if err != nil {
			return nil, err
		}
		if !same(kept, e) {
			differ(key)
		}
		if out != nil {
			add(key, colon, kept)
		}
	}
	if out != nil {
		return append(out, '}'), nil
	}
	return data, nil
}
