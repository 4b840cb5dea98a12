package pipeline

import (
	"bytes"
	"context"
	"iter"
)

// A place is what [narrow] found.
type place struct {
	Value
	at   Path // with every array spelt out
	many bool // at goes through arrays, so the Value is a list made of the finds
}

// narrow returns what is at path: one value as itself, several as an array.
// Strings that hold JSON are entered. An [*Error] names what is there if
// nothing is at path.
func narrow(ctx context.Context, v Value, path Path) (place, error) {
	if len(path) == 0 {
		return place{Value: v}, nil
	}
	if v.Kind == Text {
		return place{}, badArguments("leave path out", "path needs JSON; this is text")
	}
	n := &narrower{tick: ticker{ctx: ctx}}
	if v.Kind == JSON {
		n.walk(bytes.TrimSpace(v.Data), nil, path)
	} else {
		// JSON Lines are the array of their lines.
		n.array(items(v), nil, path)
	}
	if n.err != nil {
		return place{}, n.err
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
	}
	if inner, ok := enterString(data); ok {
		data = inner
	}
	return place{derive(v, JSON, data), n.at, n.many}, nil
}

type narrower struct {
	tick  ticker
	found [][]byte
	at    Path // of the first find
	many  bool // path went through arrays
	err   error
}

// walk looks for path below value, which stands at the path at.
func (n *narrower) walk(value []byte, at, path Path) {
	if n.err == nil {
		n.err = n.tick.err()
	}
	if n.err != nil {
		return
	}
	if len(path) == 0 {
		if len(n.found) == 0 {
			n.at = at
		}
		n.found = append(n.found, value)
		return
	}
	if inner, ok := enterString(value); ok {
		value = inner
	}
	switch s := path[0]; kindOf(value) {
	case '[':
		n.array(elements(value), at, path)
	case '{':
		n.many = n.many || s.Kind == StepEach
		for key, e := range members(value) {
			if s.Kind == StepEach || s.Kind == StepKey && unquote(key) == s.Key {
				n.walk(e, n.step(at, s), path[1:])
			}
		}
	}
}

// array goes on in each element that path names; a key names all of them.
func (n *narrower) array(elements iter.Seq2[int, []byte], at, path Path) {
	s := path[0]
	n.many = n.many || s.Kind != StepIndex
	for i, e := range elements {
		switch {
		case s.Kind == StepKey:
			n.walk(e, n.step(at, Step{Kind: StepEach}), path)
		case s.Kind == StepEach || s.Index == i:
			n.walk(e, n.step(at, s), path[1:])
		}
	}
}

// step extends at until the first find, after which nobody asks for it.
func (n *narrower) step(at Path, s Step) Path {
	if len(n.found) > 0 {
		return nil
	}
	return at.with(s)
}
