package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

// A place is what [narrow] found.
type place struct {
	Value
	at   Path // of the first find, as jq takes it: see [tried]
	many bool // at goes through arrays, so the Value is a list made of the finds
}

// narrow returns what is at path: one value as itself, several as an array.
// CSV and TSV count as their records. Strings that hold JSON are entered, the
// one that is found included; a step that says so changes nothing, except
// that each of several strings is entered too. An [*Error] names what is
// there if nothing is at path.
func narrow(ctx context.Context, v Value, path Path) (place, error) {
	if v.Kind == Text && len(path) > 0 {
		records, ok, err := csvRecords(ctx, v)
		if err != nil {
			return place{}, err
		}
		if !ok {
			return place{}, badArguments("leave path out, or find the place with proxy_search", "path needs JSON, CSV or TSV; this is text")
		}
		v = records
	}
	if v.Kind == JSONLines {
		for len(path) > 0 && path[0].Kind == StepJSON { // the list is no string
			path = path[1:]
		}
	}
	if len(path) == 0 && (v.Kind != JSON || kindOf(v.Data) != '"') {
		return place{Value: v}, nil
	}
	n := &narrower{tick: ticker{ctx: ctx}}
	if v.Kind == JSON {
		n.walk(bytes.TrimSpace(v.Data), path)
	} else {
		// JSON Lines are the array of their lines.
		n.array(items(v), path)
	}
	if n.err != nil {
		return place{}, n.err
	}
	if len(n.found) == 0 && n.short != nil {
		return place{}, n.short
	}
	if len(n.found) == 0 {
		known, err := knownPaths(ctx, v)
		if err != nil {
			return place{}, err
		}
		return place{}, noSuchPath(path, known)
	}
	var data []byte
	if n.many {
		data = append(append(append(data, '['), bytes.Join(n.found, []byte{','})...), ']')
	} else {
		data = n.found[0]
		if inner, ok := enterString(data); ok {
			data, n.at = inner, n.at.with(Step{Kind: StepJSON})
		}
	}
	at, err := tried(ctx, v, n.at)
	if err != nil {
		return place{}, err
	}
	return place{derive(v, JSON, data), at, n.many}, nil
}

type narrower struct {
	tick  ticker
	found [][]byte
	here  Path   // of the value that is looked at
	at    Path   // of the first find
	many  bool   // path went through arrays
	short *Error // the first array that has no item where path goes on; nil: none
	err   error
}

// walk looks for path below value, which stands here.
func (n *narrower) walk(value []byte, path Path) {
	if n.err == nil {
		n.err = n.tick.err()
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
	if inner, ok := enterString(value); ok {
		// inner is a container, so this happens once for each string.
		n.down(Step{Kind: StepJSON}, inner, path)
		return
	}
	if path[0].Kind == StepJSON {
		n.walk(value, path[1:])
		return
	}
	switch s := path[0]; kindOf(value) {
	case '[':
		n.array(elements(value), path)
	case '{':
		n.many = n.many || s.Kind == StepEach
		for key, e := range members(value) {
			if s.Kind == StepEach || s.Kind == StepKey && unquote(key) == s.Key {
				n.down(s, e, path[1:])
			}
		}
	}
}

// array goes on in each element that path names; a key names all of them.
func (n *narrower) array(elements iter.Seq2[int, []byte], path Path) {
	s := path[0]
	n.many = n.many || s.Kind != StepIndex
	count := 0
	for i, e := range elements {
		count++
		switch {
		case s.Kind == StepKey:
			n.down(Step{Kind: StepEach}, e, path)
		case s.Kind == StepEach || s.Index == i:
			n.down(s, e, path[1:])
		}
	}
	if s.Kind == StepIndex && s.Index >= count && n.short == nil {
		where := n.here.String()
		if where == "" {
			where = "the list"
		}
		hint := "leave path out"
		if count > 0 {
			hint = fmt.Sprintf("the first is [0], the last [%d]", count-1)
		}
		n.short = badArguments(hint, "no item [%d]: %s has %s", s.Index, show.Clip(where, 120), show.Plural(count, "items"))
	}
}

// down goes on in value, one step from here.
func (n *narrower) down(s Step, value []byte, path Path) {
	s.Try = false
	n.here = append(n.here, s)
	n.walk(value, path)
	n.here = n.here[:len(n.here)-1]
}

// tried is at with a ? behind each step on which jq, run over v, would stop.
// What jq passes on as null, as for a missing key, may stop it later.
func tried(ctx context.Context, v Value, at Path) (Path, error) {
	t := &trier{tick: ticker{ctx: ctx}, path: slices.Clone(at)}
	if v.Kind == JSON {
		t.walk(bytes.TrimSpace(v.Data), 0)
	} else if len(at) > 0 {
		for i, e := range items(v) {
			if at[0].Kind == StepEach || at[0].Index == i {
				t.walk(e, 1)
			}
		}
	}
	return t.path, t.err
}

// A trier goes along a path as jq does: no array and no string is implied.
type trier struct {
	tick ticker
	path Path
	err  error
}

// walk applies the steps from i on to value.
func (t *trier) walk(value []byte, i int) {
	if t.err == nil {
		t.err = t.tick.err()
	}
	if t.err != nil || i == len(t.path) {
		return
	}
	kind := kindOf(value)
	switch s := &t.path[i]; {
	case s.Kind == StepEach && kind == '[':
		for _, e := range elements(value) {
			t.walk(e, i+1)
		}
	case s.Kind == StepEach && kind == '{':
		for _, e := range members(value) {
			t.walk(e, i+1)
		}
	case s.Kind == StepIndex && (kind == '[' || kind == 'n'):
		t.walk(elementAt(value, s.Index), i+1)
	case s.Kind == StepKey && (kind == '{' || kind == 'n'):
		found := []byte("null")
		for key, e := range members(value) {
			if unquote(key) == s.Key {
				found = e // the last of several, as in jq
			}
		}
		t.walk(found, i+1)
	case s.Kind == StepJSON && kind == '"':
		// fromjson takes scalars too, which is more than [enterString] does.
		if inner := []byte(unquote(bytes.TrimSpace(value))); jsonscan.Valid(inner, maxDepth) {
			t.walk(bytes.TrimSpace(inner), i+1)
			return
		}
		s.Try = true
	case s.Kind == StepIndex && kind == '"':
		// gojq takes a character of a string, where jq stops.
		s.Try = true
		char := []byte("null")
		n := 0
		for _, r := range unquote(bytes.TrimSpace(value)) {
			if n == s.Index {
				char = show.AppendQuote(nil, string(r))
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
	for i, e := range elements(value) {
		if i == index {
			return e
		}
	}
	return []byte("null")
}
