package project

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/locate"
	"rlmproxy/pipeline/show"
)

// A mask is the paths of one list as a tree, with how often each step was found.
type mask struct {
	paths []doc.Path // of the root only, in the order of the arguments

	leaf  bool // a path ends here
	keys  map[string]*mask
	order []string // of keys
	index map[int]*mask
	each  *mask

	hits    int // values that this step led to
	objects int // objects where one of keys was looked for
}

// newMask reads fields. None of them names the document itself.
func newMask(fields []string) (*mask, error) {
	root := &mask{leaf: len(fields) == 0}
	if len(fields) > 500 {
		return nil, doc.Invalid("", "%s paths; 500 are allowed", show.Count(len(fields)))
	}
	for _, f := range fields {
		path, err := doc.ParsePath(f)
		if err != nil {
			return nil, err
		}
		// Strings that hold JSON are entered anyway.
		path = slices.DeleteFunc(path, func(s doc.Step) bool { return s.Kind == doc.StepJSON })
		root.paths = append(root.paths, path)
		node := root
		for _, s := range path {
			node = node.child(s)
		}
		node.leaf = true
	}
	return root, nil
}

// child returns the node behind s, and makes it if it is new.
func (m *mask) child(s doc.Step) *mask {
	switch s.Kind {
	case doc.StepEach:
		if m.each == nil {
			m.each = &mask{}
		}
		return m.each
	case doc.StepIndex:
		if m.index[s.Index] == nil {
			if m.index == nil {
				m.index = map[int]*mask{}
			}
			m.index[s.Index] = &mask{}
		}
		return m.index[s.Index]
	}
	if m.keys[s.Key] == nil {
		if m.keys == nil {
			m.keys = map[string]*mask{}
		}
		m.keys[s.Key] = &mask{}
		m.order = append(m.order, s.Key)
	}
	return m.keys[s.Key]
}

// missing is the error for the first path that led nowhere in in, nil for none.
func (m *mask) missing(ctx context.Context, in doc.Value) error {
	for _, path := range m.paths {
		node := m
		for _, s := range path {
			node = node.child(s)
		}
		if len(path) == 0 || node.hits > 0 {
			continue
		}
		return locate.NoField(ctx, in, path)
	}
	return nil
}

// lacking tells how many objects lack a kept key, in the order of the arguments;
// at most three keys are named.
func (m *mask) lacking() string {
	var parts []string
	var walk func(m *mask, at doc.Path)
	walk = func(m *mask, at doc.Path) {
		for _, k := range m.order {
			c, p := m.keys[k], at.With(doc.Step{Key: k})
			if c.hits < m.objects && c.hits > 0 {
				parts = append(parts, fmt.Sprintf("%s of %s lack %s", show.Count(m.objects-c.hits), show.Plural(m.objects, "records"), show.Clip(p.JQ(), 80)))
			}
			walk(c, p)
		}
		if m.each != nil {
			walk(m.each, at.With(doc.Step{Kind: doc.StepEach}))
		}
	}
	walk(m, nil)
	if len(parts) > 3 {
		parts = append(parts[:3], fmt.Sprintf("%d more fields are missing in some", len(parts)-3))
	}
	return strings.Join(parts, "; ")
}
