// Package hide takes the fields out of documents that no agent may see.
//
//	JSON, JSON Lines, CSV, TSV    ──► the document without the fields
//	a text that labels one        ──► a line that says it is withheld
//	a text whose records have one ──► the records without it
package hide

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/show"
)

// Hide takes fields out of documents wherever they stand. It is for what an
// operator never wants an agent to see, so it does not depend on where a
// server puts its records: user.email names every email in a user, at any
// depth, arrays between them or not, in any case of letters, and in strings
// that hold a document of their own. Hide is safe for concurrent use.
//
// A text that is no such document, and in which the name of a hidden field stands
// as a label (see [labelled]), is replaced by a line that says so. Running prose may
// use the word. A value without the name of its field, as in the last rows of a
// table alone, is beyond Hide.
type Hide struct {
	// paths by their last key, each without it, innermost key first; all in
	// lower case.
	paths map[string][][]string
	label *regexp.Regexp // one of the last keys, as a label
}

// NewHide is a [*doc.Error] for a path that cannot be read or has an index.
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
				return nil, doc.Invalid("name the field without an index", "hide %s: it has an index", show.Quote(show.Clip(f, 60)))
			}
		}
		if slices.Contains(keys, "") || len(keys) == 0 {
			return nil, doc.Invalid("name a field", "hide %s: it names no field", show.Quote(show.Clip(f, 60)))
		}
		slices.Reverse(keys)
		names = append(names, regexp.QuoteMeta(keys[0]))
		h.paths[keys[0]] = append(h.paths[keys[0]], keys[1:])
	}
	h.label = labelled(strings.Join(names, "|"))
	return h, nil
}

// labelled finds names where they label a value in a text.
func labelled(names string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(`(?im)`+strings.Join([]string{
		`(?:^|[^\pL\pN_])NAME[*_\x60"'\])]*[ \t]*[:=|]`,                      // token: x, **token:** x, TOKEN=x, token | x
		`["'\x60]NAME["'\x60]`,                                               // "token"
		`(?:^|[,;\t]|\|[ \t]*|[ \t]{2,})NAME(?:[,;\t]|[ \t]{2,}|[ \t]*\r?$)`, // the header of a column: id,token
		`</?(?:[\pL\pN_.-]+:)?NAME(?:$|[^\pL\pN_])`,                          // <token>x</token>, <a:token>x</a:token>
		`--NAME(?:$|[^\pL\pN_])`,                                             // --token x
	}, "|"), "NAME", "(?:"+names+")"))
}

// Text returns a text of any kind without the hidden fields, and text itself
// if it has none.
func (h *Hide) Text(ctx context.Context, text []byte) ([]byte, error) {
	w := newHider(ctx, h)
	kept := w.text(text)
	return kept, w.err
}

// Value is Text for a JSON value, such as a whole result. A member that
// protected names is not taken out, but searched: at has the keys to the
// object it is in, outermost first.
func (h *Hide) Value(ctx context.Context, value []byte, protected func(at []string, key string) bool) ([]byte, error) {
	w := newHider(ctx, h)
	w.protected = protected
	kept := w.value(nil, value)
	if !w.changed {
		kept = value
	}
	return kept, w.err
}

// A hider walks one document.
type hider struct {
	hide      *Hide
	tick      doc.Ticker
	err       error                              // the caller waits no longer: what was written must not be shown
	protected func(at []string, key string) bool // may be nil
	at        []string                           // the keys to where it is, in lower case
	changed   bool                               // something was hidden
}

func newHider(ctx context.Context, h *Hide) *hider {
	w := &hider{hide: h, tick: doc.Ticker{Ctx: ctx}}
	w.ended(ctx.Err())
	return w
}

// ended notes why the walk cannot go on, if it cannot.
func (w *hider) ended(err error) bool {
	if w.err == nil && err != nil {
		w.err = doc.AsLimit(err)
	}
	return w.err != nil
}

// text returns what may be shown of a text. It sets changed if that is another one.
func (w *hider) text(text []byte) []byte {
	if w.err != nil || !w.mayName(text) {
		return text
	}
	before := w.changed
	w.changed = false
	kept := w.document(text)
	if !w.changed {
		kept = text
	}
	w.changed = w.changed || before
	return kept
}

// document hides fields in a text, by the kind of document that it is.
func (w *hider) document(text []byte) (kept []byte) {
	v := doc.Recognise(bytes.TrimPrefix(text, []byte("\ufeff")), nil)
	if before, behind := v.Beside(); before != nil {
		return w.around(v, before, behind)
	}
	switch v.Kind {
	case doc.JSON:
		return w.value(nil, v.Data)
	case doc.JSONLines:
		return w.lines(v.Data, w.hides)
	}
	rows, ok, err := records.Of(w.tick.Ctx, v)
	if w.ended(err) {
		return nil
	}
	if ok && rows.IsTable() {
		if kept = w.lines(rows.Data, w.hidesColumn); w.changed {
			return kept
		}
	}
	isName := w.hide.paths[strings.ToLower(string(bytes.TrimSpace(text)))] != nil // and nothing else
	if !isName && w.hide.label.Match(text) {
		return w.withheld(text)
	}
	if ok && rows.Kind == doc.JSON {
		kept = w.value(nil, rows.Data)
	} else if ok {
		kept = w.lines(rows.Data, w.hidesColumn)
	}
	if w.changed {
		return kept
	}
	return text
}

// around is document for JSON with text before and behind it, which is searched as text.
func (w *hider) around(v doc.Value, before, behind []byte) []byte {
	if w.hide.label.Match(before) || w.hide.label.Match(behind) {
		return w.withheld(v.Whole)
	}
	return append(w.value(bytes.Clone(before), v.Data), behind...)
}

func (w *hider) withheld(text []byte) []byte {
	w.changed = true
	return fmt.Appendf(nil, "[withheld: a text of %s bytes that has a hidden field]\n", show.Count(len(text)))
}

// spelt are how a text begins to spell a name otherwise: JSON, YAML and TOML with escapes, the
// head of a table of HTML with entities, or tags and line ends inside.
var spelt = [][]byte{[]byte(`\u`), []byte(`\x`), []byte("<th"), []byte("<td")}

// mayName reports whether a hidden name can be in text, however it is spelt.
func (w *hider) mayName(text []byte) bool {
	lower := bytes.ToLower(text)
	for _, mark := range spelt {
		if bytes.Contains(lower, mark) {
			return true
		}
	}
	for name := range w.hide.paths {
		if bytes.Contains(lower, []byte(name)) || records.Gives(name) {
			return true
		}
	}
	return false
}

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

// secondName is what [records.Of] adds to a name that is there already.
var secondName = regexp.MustCompile(`_\d+$`)

// hidesColumn is hides for a column of a table, the second of that name too.
func (w *hider) hidesColumn(name string) bool {
	return w.hides(name) || w.hides(secondName.ReplaceAllString(name, ""))
}

// lines is value for JSON Lines; hides says which members of their objects go.
func (w *hider) lines(data []byte, hides func(key string) bool) (kept []byte) {
	for line := range jsonscan.Lines(data) {
		if jsonscan.Kind(line) == '{' {
			kept = w.object(kept, line, hides)
		} else {
			kept = w.value(kept, line)
		}
		kept = append(kept, '\n')
	}
	return kept
}

// value appends what may be shown of a JSON value. It sets changed if that is not
// all, and is minified to the strings and numbers then.
func (w *hider) value(dst, value []byte) []byte {
	if w.err != nil || w.ended(w.tick.ErrFor(len(value))) {
		return dst
	}
	switch jsonscan.Kind(value) {
	case '{':
		return w.object(dst, value, w.hides)
	case '[':
		dst = append(dst, '[')
		for n, item := range jsonscan.Items(value) {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = w.value(dst, item)
		}
		return append(dst, ']')
	case '"':
		return w.str(dst, bytes.TrimSpace(value))
	}
	return append(dst, value...)
}

func (w *hider) object(dst, value []byte, hides func(key string) bool) []byte {
	dst = append(dst, '{')
	for key, member := range jsonscan.Fields(value) {
		name := jsonscan.Unquote(key)
		if hides(name) {
			w.changed = true
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		w.at = append(w.at, strings.ToLower(name))
		dst = w.value(append(append(dst, key...), ':'), member)
		w.at = w.at[:len(w.at)-1]
	}
	return append(dst, '}')
}

// str is value for a string, which may be a document, in base64 too where blobs are.
func (w *hider) str(dst, value []byte) []byte {
	isBlob := len(w.at) > 0 && (w.at[len(w.at)-1] == "blob" || w.at[len(w.at)-1] == "data")
	if !isBlob && !w.mayName(value) {
		return append(dst, value...)
	}
	before := w.changed
	w.changed = false
	text := jsonscan.AppendUnquoted(nil, value)
	var kept string
	if blob, err := base64.StdEncoding.DecodeString(string(text)); isBlob && err == nil && utf8.Valid(blob) {
		kept = base64.StdEncoding.EncodeToString(w.text(blob))
	} else {
		kept = string(w.text(text))
	}
	changed := w.changed
	if w.changed = changed || before; !changed {
		return append(dst, value...)
	}
	return jsonscan.AppendQuote(dst, kept)
}
