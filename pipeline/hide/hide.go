// Package hide takes the fields out of documents that no agent may see.
package hide

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/table"
)

// Hide takes fields out of documents wherever they stand. It is for what an
// operator never wants an agent to see, so it does not depend on where a
// server puts its records: user.email names every email in a user, at any
// depth, arrays between them or not, in any case of letters, and in strings
// that hold a document of their own. Hide is safe for concurrent use.
//
// What it cannot take apart it does not show: a text that names a hidden field
// as data does ("token: …", token=…), and is neither JSON nor JSON Lines nor a
// table, is replaced by a line that says so. A value without the name of its
// field, as in the last rows of a table alone, is beyond it.
type Hide struct {
	// paths by their last key, each without it, innermost key first; all in
	// lower case.
	paths map[string][][]string
	names [][]byte       // the last keys
	named *regexp.Regexp // one of names, as data names a field
}

// NewHide is an [*Error] for a path that cannot be read or has an index.
func NewHide(fields []string) (*Hide, error) {
	h := &Hide{paths: map[string][][]string{}}
	var names []string
	for _, f := range fields {
		path, err := doc.ParsePath(f)
		if err != nil {
			return nil, err
		}
		var keys []string
		for _, s := range path {
			switch s.Kind {
			case doc.StepKey:
				keys = append(keys, strings.ToLower(s.Key))
			case doc.StepIndex:
				return nil, doc.Invalid("name the field alone", "hide %s: an index", show.Quote(show.Clip(f, 60)))
			}
		}
		if slices.Contains(keys, "") || len(keys) == 0 {
			return nil, doc.Invalid("name a field", "hide %s: no key", show.Quote(show.Clip(f, 60)))
		}
		slices.Reverse(keys)
		if h.paths[keys[0]] == nil {
			h.names = append(h.names, []byte(keys[0]))
			names = append(names, regexp.QuoteMeta(keys[0]))
		}
		h.paths[keys[0]] = append(h.paths[keys[0]], keys[1:])
	}
	h.named = regexp.MustCompile(`(?i)(?:^|[^\pL\pN_])(?:` + strings.Join(names, "|") + `)["'` + "`" + `\\*]*\s*(?:[:=,;|>\t\])]|\r?\n)`)
	return h, nil
}

// Text returns a text of any kind without the hidden fields, and text itself
// if it has none.
func (h *Hide) Text(ctx context.Context, text []byte) ([]byte, error) {
	return (&hider{hide: h, ctx: ctx}).text(text)
}

// Value is Text for a JSON value, such as a whole result. A member that
// protected names is not taken out, but searched: at has the keys to the
// object it is in, outermost first.
func (h *Hide) Value(ctx context.Context, value []byte, protected func(at []string, key string) bool) ([]byte, error) {
	return (&hider{hide: h, ctx: ctx, protected: protected}).value(value)
}

// mayName reports whether a hidden name can be in text, escapes included.
func (h *Hide) mayName(text []byte) bool {
	if bytes.Contains(text, []byte(`\u`)) {
		return true
	}
	lower := bytes.ToLower(text)
	return slices.ContainsFunc(h.names, func(name []byte) bool { return bytes.Contains(lower, name) })
}

// A hider walks one document. Every method returns its argument, not a copy,
// where nothing is hidden.
type hider struct {
	hide      *Hide
	ctx       context.Context
	protected func(at []string, key string) bool // may be nil
	at        []string                           // the keys to where it is
}

// text takes a text for what it is.
func (w *hider) text(text []byte) ([]byte, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, doc.Ended(err)
	}
	if !w.hide.mayName(text) {
		return text, nil
	}
	v := doc.Recognise(bytes.TrimPrefix(text, []byte("\ufeff")), nil)
	switch {
	case v.Kind == doc.JSON:
		return w.unlessSame(text, v.Data, w.value)
	case v.Kind == doc.JSONLines:
		return w.unlessSame(text, v.Data, w.lines)
	}
	if _, header := digest.Columns(v.Data); slices.ContainsFunc(header, w.hidesColumn) {
		rows, ok, err := table.Records(w.ctx, v)
		if err != nil {
			return nil, err
		}
		if kept, err := w.columns(rows.Data); ok && !same(kept, rows.Data) || err != nil {
			return kept, err
		}
	}
	if w.hide.named.Match(text) {
		return fmt.Appendf(nil, "[withheld: %s bytes that name a hidden field and are neither JSON nor JSON Lines nor a table]\n", show.Count(len(text))), nil
	}
	return text, nil
}

// unlessSame is text where f does not change data, which is what text holds.
func (w *hider) unlessSame(text, data []byte, f func([]byte) ([]byte, error)) ([]byte, error) {
	kept, err := f(data)
	if err == nil && same(kept, data) {
		return text, nil
	}
	return kept, err
}

// same reports whether a and b are the same memory.
func same(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// hides reports whether the member key of the object at w.at is hidden.
func (w *hider) hides(key string) bool {
	for _, above := range w.hide.paths[strings.ToLower(key)] {
		if len(above) > len(w.at) {
			continue
		}
		found := true
		for i, k := range above {
			found = found && w.at[len(w.at)-1-i] == k
		}
		if found {
			return w.protected == nil || !w.protected(w.at, key)
		}
	}
	return false
}

// hidesColumn is hides for a column of a table, the second of that name too.
func (w *hider) hidesColumn(name string) bool {
	return w.hides(name) || w.hides(secondName.ReplaceAllString(name, ""))
}

// secondName is what csvRecords adds to a name that is there already.
var secondName = regexp.MustCompile(`_\d+$`)

// columns is lines for the records of a table.
func (w *hider) columns(records []byte) ([]byte, error) {
	var out []byte
	changed := false
	for line := range bytes.Lines(records) {
		out = append(out, '{')
		for key, cell := range jsonscan.Fields(line) {
			if w.hidesColumn(jsonscan.Unquote(key)) {
				changed = true
				continue
			}
			if out[len(out)-1] != '{' {
				out = append(out, ',')
			}
			out = append(append(append(out, key...), ':'), cell...)
		}
		out = append(out, "}\n"...)
	}
	if !changed {
		return records, w.ctx.Err()
	}
	return out, w.ctx.Err()
}

func (w *hider) lines(data []byte) ([]byte, error) {
	var out []byte
	changed := false
	for line := range jsonscan.Lines(data) {
		kept, err := w.value(line)
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

func (w *hider) value(value []byte) ([]byte, error) {
	switch jsonscan.Kind(value) {
	case '{', '[':
		return w.container(value)
	case '"':
		return w.str(value)
	}
	return value, nil
}

// str takes a string for the document that it may be.
func (w *hider) str(value []byte) ([]byte, error) {
	if !w.hide.mayName(value) && !w.isData() {
		return value, nil
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return value, nil
	}
	was := []byte(s)
	if w.isData() {
		if decoded, err := base64.StdEncoding.DecodeString(s); err == nil && utf8.Valid(decoded) {
			kept, err := w.text(decoded)
			if err != nil || same(kept, decoded) {
				return value, err
			}
			return show.AppendQuote(nil, base64.StdEncoding.EncodeToString(kept)), nil
		}
	}
	kept, err := w.text(was)
	if err != nil || same(kept, was) {
		return value, err
	}
	return show.AppendQuote(nil, string(kept)), nil
}

// isData reports whether the value is where base64 is.
func (w *hider) isData() bool {
	return len(w.at) > 0 && (w.at[len(w.at)-1] == "blob" || w.at[len(w.at)-1] == "data")
}

func (w *hider) container(data []byte) ([]byte, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, doc.Ended(err)
	}
	data = bytes.TrimSpace(data)
	// out is made at the first difference, of what came before.
	var out []byte
	differ := func(part []byte) {
		if out == nil {
			out = append(make([]byte, 0, len(data)), data[:jsonscan.OffsetIn(data, part)]...)
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
	if jsonscan.Kind(data) == '[' {
		for _, e := range jsonscan.Items(data) {
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
		if out == nil {
			return data, nil
		}
		return append(out, ']'), nil
	}
	colon := []byte{':'}
	for key, e := range jsonscan.Fields(data) {
		name := jsonscan.Unquote(key)
		if w.hides(name) {
			differ(key)
			continue
		}
		w.at = append(w.at, strings.ToLower(name))
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
	if out == nil {
		return data, nil
	}
	return append(out, '}'), nil
}
