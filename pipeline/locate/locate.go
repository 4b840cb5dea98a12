// Package locate finds what is at a path of a document.
//
// Paths imply arrays and strings that hold JSON. What it returns is the path as
// jq takes it, with both spelt out.
package locate

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/show"
)

// A Place is what [Find] found.
type Place struct {
	doc.Value
	At   doc.Path // of the first find, as jq takes it: see [withTry]
	Many bool     // at goes through arrays, so the Value is a list made of the finds
}

// Find returns what is at path: one value as itself, several as an array.
// Texts made of records count as those. Strings that hold JSON are entered, the
// one that is found included; a step that says so changes nothing, except
// that each of several strings is entered too. A [*doc.Error] names what is
// there if nothing is at path.
func Find(ctx context.Context, v doc.Value, path doc.Path) (Place, error) {
	if v.Kind == doc.Text && len(path) > 0 {
		rows, ok, err := records.Of(ctx, v)
		if err != nil {
			return Place{}, err
		}
		if !ok {
			return Place{}, doc.Invalid("leave path out, or find the place with proxy_search", "path needs JSON or a text made of records; this is neither")
		}
		v = rows.Value
	}
	if v.Kind == doc.JSONLines {
		for len(path) > 0 && path[0].Kind == doc.StepJSON { // the list is no string
			path = path[1:]
		}
	}
	if len(path) == 0 && (v.Kind != doc.JSON || jsonscan.Kind(v.Data) != '"') {
		return Place{Value: v}, nil
	}
	n := &finder{tick: doc.Ticker{Ctx: ctx}}
	if v.Kind == doc.JSON {
		n.walk(bytes.TrimSpace(v.Data), path)
	} else {
		// JSON Lines are the array of their lines.
		n.array(doc.Items(v), path)
	}
	if n.err != nil {
		return Place{}, n.err
	}
	if len(n.found) == 0 && n.short != nil {
		return Place{}, n.short
	}
	if len(n.found) == 0 {
		if err := NoField(ctx, v, path); err != nil {
			return Place{}, err
		}
		return Place{}, noField(path, nil)
	}
	var data []byte
	if n.many {
		data = append(append(append(data, '['), bytes.Join(n.found, []byte{','})...), ']')
	} else {
		data = n.found[0]
		if inner, ok := doc.EnterString(data); ok {
			data, n.at = inner, n.at.With(doc.Step{Kind: doc.StepJSON})
		}
	}
	at, err := withTry(ctx, v, n.at)
	if err != nil {
		return Place{}, err
	}
	return Place{doc.Derive(v, doc.JSON, data), at, n.many}, nil
}

type finder struct {
	tick  doc.Ticker
	found [][]byte
	here  doc.Path   // of the value that is looked at
	at    doc.Path   // of the first find
	many  bool       // path went through arrays
	short *doc.Error // the first array that has no item where path goes on; nil: none
	err   error
}

// walk looks for path below value, which stands here.
func (n *finder) walk(value []byte, path doc.Path) {
	if n.err == nil {
		n.err = n.tick.Err()
	}
	if n.err != nil {
		return
	}
	if len(path) == 0 {
		if len(n.found) == 0 {
			n.at = slices.Clone(n.here)
		}
		n.found = append(n.found, value)
		return
	}
	if inner, ok := doc.EnterString(value); ok {
		// inner is a container, so this happens once for each string.
		n.down(doc.Step{Kind: doc.StepJSON}, inner, path)
		return
	}
	if path[0].Kind == doc.StepJSON {
		n.walk(value, path[1:])
		return
	}
	switch s := path[0]; jsonscan.Kind(value) {
	case '[':
		n.array(jsonscan.Items(value), path)
	case '{':
		n.many = n.many || s.Kind == doc.StepEach
		for key, e := range jsonscan.Fields(value) {
			if s.Kind == doc.StepEach || s.Kind == doc.StepKey && jsonscan.Unquote(key) == s.Key {
				n.down(s, e, path[1:])
			}
		}
	}
}

// array goes on in each element that path names; a key names all of them.
func (n *finder) array(elements iter.Seq2[int, []byte], path doc.Path) {
	s := path[0]
	n.many = n.many || s.Kind != doc.StepIndex
	count := 0
	for i, e := range elements {
		count++
		switch {
		case s.Kind == doc.StepKey:
			n.down(doc.Step{Kind: doc.StepEach}, e, path)
		case s.Kind == doc.StepEach || s.Index == i:
			n.down(s, e, path[1:])
		}
	}
	if s.Kind == doc.StepIndex && s.Index >= count && n.short == nil {
		where := n.here.String()
		if where == "" {
			where = "the list"
		}
		hint := "leave path out"
		if count > 0 {
			hint = fmt.Sprintf("the first is [0], the last [%d]", count-1)
		}
		n.short = doc.Invalid(hint, "no item [%d]: %s has %s", s.Index, show.Clip(where, 120), show.Plural(count, "items"))
	}
}

// down goes on in value, one step from here.
func (n *finder) down(s doc.Step, value []byte, path doc.Path) {
	s.Try = false
	n.here = append(n.here, s)
	n.walk(value, path)
	n.here = n.here[:len(n.here)-1]
}
