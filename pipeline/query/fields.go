package query

import (
	"bytes"

	"github.com/itchyny/gojq"

	"rlmproxy/jsonscan"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/schema"
)

// A place is where in the document the input or output of a part of a program is.
// The zero place is a value that the program has made, or nobody knows where from.
type place struct {
	node     *schema.Node // what the values there look like
	lists    int          // how many lists the program has made around them
	anywhere bool         // at any depth of the document, as .. is
}

// each is the place of what .[] yields.
func (p place) each() place {
	switch {
	case p.lists > 0:
		p.lists--
		return p
	case p.anywhere:
		return p
	case p.node == nil:
	case p.node.Rest != nil:
		return place{node: p.node.Rest}
	case p.node.Kinds[schema.IsObject] == 0 && p.node.Items != nil:
		return place{node: p.node.Items}
	}
	return place{}
}

// A fieldFinder follows the way of the data through a program, and stops at the
// first field that the document lacks.
type fieldFinder struct {
	data    []byte
	missing doc.Path // as the program has it
	astray  *fault   // the first path that does not fit; that of missing, if there is one
	unlike  *unlike  // the first comparison with a value of another type or case
}

// A fault is a path of a program, the first steps of it, that leads nowhere: a key of an
// array, each of an object, a field that is not there.
type fault struct {
	term *gojq.Term
	path doc.Path
	from place // where it begins
}

// An unlike is a comparison that no value meets.
type unlike struct {
	literal *gojq.Term
	with    *schema.Node
	where   string // the other side
}

// query returns the place of what q puts out, whose input is at at.
func (f *fieldFinder) query(q *gojq.Query, at place) place {
	switch {
	case q == nil || f.missing != nil || len(q.FuncDefs) > 0:
		return place{}
	case q.Term != nil:
		return f.term(q.Term, at)
	}
	switch q.Op {
	case gojq.OpPipe:
		left := f.query(q.Left, at)
		if len(q.Patterns) > 0 { // .a as $x | …
			left = at
		}
		return f.query(q.Right, left)
	case gojq.OpAlt: // the program says that the left side may be missing
		if s := q.Right.String(); s == "empty" || s == "null" {
			return f.query(q.Left, at)
		}
	case gojq.OpEq, gojq.OpNe:
		if q.Left.String() != "null" && q.Right.String() != "null" {
			f.compare(q.Left, f.query(q.Left, at), q.Right)
			f.compare(q.Right, f.query(q.Right, at), q.Left)
		}
		return place{}
	case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		return place{} // what is set need not be there
	default:
		f.query(q.Left, at)
	}
	f.query(q.Right, at)
	return place{}
}

func (f *fieldFinder) term(t *gojq.Term, at place) place {
	var out place
	steps := t.SuffixList
	switch t.Type {
	case gojq.TermTypeIdentity:
		out = at
	case gojq.TermTypeRecurse:
		out = place{anywhere: true}
	case gojq.TermTypeIndex:
		out, steps = at, append([]*gojq.Suffix{{Index: t.Index}}, steps...)
	case gojq.TermTypeQuery:
		out = f.query(t.Query, at)
	case gojq.TermTypeFunc:
		out = f.call(t.Func, at)
	case gojq.TermTypeArray:
		out = f.query(t.Array.Query, at)
		out.lists++
	case gojq.TermTypeObject:
		for _, m := range t.Object.KeyVals {
			f.query(m.Val, at)
			if m.Val == nil && m.Key != "" && m.Key[0] != '$' { // {name} is {name: .name}
				own := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIndex, Index: &gojq.Index{Name: m.Key}}}
				f.query(own, at)
				if f.astray != nil && f.astray.term == own.Term {
					m.Val = own
				}
			}
		}
	case gojq.TermTypeString:
		for _, q := range t.Str.Queries {
			f.query(q, at)
		}
	case gojq.TermTypeIf:
		f.query(t.If.Cond, at)
		f.query(t.If.Then, at)
		f.query(t.If.Else, at)
	case gojq.TermTypeTry:
		f.query(t.Try.Body, at)
	case gojq.TermTypeReduce:
		f.query(t.Reduce.Query, at)
	}
	return f.steps(t, out, steps)
}

// compare looks at a comparison of a value with a literal.
func (f *fieldFinder) compare(q *gojq.Query, at place, with *gojq.Query) {
	t := with.Term
	if f.unlike != nil || at.node == nil || at.lists > 0 || t == nil || len(t.SuffixList) > 0 {
		return
	}
	kind := at.node.Only()
	switch {
	case kind == "":
		return
	case t.Type == gojq.TermTypeString && len(t.Str.Queries) == 0:
		if kind == "string" && at.node.Values.Like(jsonscan.Quote(t.Str.Str)) == nil || kind == "object" {
			return
		}
	case (t.Type == gojq.TermTypeNumber || t.Type == gojq.TermTypeTrue || t.Type == gojq.TermTypeFalse) && kind == "string":
	default:
		return
	}
	f.unlike = &unlike{t, at.node, q.String()}
}

// call is term for a function of jq: those that pass on what they get, or a part of it.
func (f *fieldFinder) call(c *gojq.Func, at place) place {
	arg := func(n int, at place) place { return f.query(c.Args[n], at) }
	switch name := c.Name; len(c.Args) {
	case 0:
		switch name {
		case "objects", "arrays", "iterables", "values", "sort", "reverse", "unique":
			return at
		case "first", "last", "min", "max":
			return at.each()
		case "recurse":
			return place{anywhere: true}
		}
	case 1:
		switch name {
		case "select":
			arg(0, at)
			return at
		case "map":
			out := arg(0, at.each())
			out.lists++
			return out
		case "sort_by", "unique_by":
			arg(0, at.each())
			return at
		case "group_by":
			arg(0, at.each())
			at.lists++
			return at
		case "min_by", "max_by":
			arg(0, at.each())
			return at.each()
		case "any", "all", "map_values":
			arg(0, at.each())
		case "first", "last":
			return arg(0, at)
		}
	case 2:
		switch name {
		case "limit":
			return arg(1, at)
		case "any", "all":
			arg(1, arg(0, at))
		}
	}
	return place{}
}

// steps goes along .a[0]["b"] of a term from at.
func (f *fieldFinder) steps(t *gojq.Term, at place, suffixes []*gojq.Suffix) place {
	path, whole := pathOf(suffixes)
	from := at
	for i, step := range path {
		switch {
		case f.missing != nil:
			return place{}
		case step.Kind != doc.StepKey:
			next := at.each()
			if at.node != nil && at.lists == 0 && next.node == nil && at.node.Only() == "object" {
				f.stray(t, path[:i+1], from)
			}
			at = next
		case at.lacks(step.Key, f.data):
			for path[len(path)-1].Kind != doc.StepKey {
				path = path[:len(path)-1]
			}
			f.missing, f.astray = path, nil
			f.stray(t, path[:min(i+1, len(path))], from)
		default:
			if at.lists > 0 || at.node != nil && at.node.Only() == "array" {
				f.stray(t, path[:i+1], from)
			}
			at = at.member(step.Key)
		}
	}
	if !whole {
		return place{}
	}
	return at
}

func (f *fieldFinder) stray(t *gojq.Term, path doc.Path, from place) {
	if f.astray == nil {
		f.astray = &fault{t, path, from}
	}
}

// pathOf reads the steps of a path, up to one that only a run tells.
func pathOf(suffixes []*gojq.Suffix) (path doc.Path, whole bool) {
	for _, s := range suffixes {
		switch i := s.Index; {
		case s.Iter:
			path = append(path, doc.Step{Kind: doc.StepEach})
		case i == nil: // ?
		case i.Name != "":
			path = append(path, doc.Step{Key: i.Name})
		case i.Str != nil && i.Str.Queries == nil:
			path = append(path, doc.Step{Key: i.Str.Str})
		case i.Start != nil && !i.IsSlice: // a number, or a string in brackets
			step, err := doc.ParsePath("[" + i.Start.String() + "]")
			if err != nil || len(step) != 1 {
				return path, false
			}
			path = append(path, step...)
		default:
			return path, false
		}
	}
	return path, true
}

// lacks reports that there are objects at p, and that none of them has the key.
func (p place) lacks(key string, data []byte) bool {
	switch {
	case p.lists > 0:
		return false
	case p.anywhere:
		// A key of plain words is written as it is, whatever escapes there are.
		return !bytes.Contains(data, []byte(`"`+key+`"`)) && (doc.IsWord(key) || !bytes.Contains(data, []byte(`\u`)))
	}
	return p.node != nil && p.node.Rest == nil && len(p.node.Fields) > 0 && p.node.ByName[key] == nil
}

// member is the place of the values of a key.
func (p place) member(key string) place {
	if p.anywhere {
		return p
	}
	if p.lists == 0 && p.node != nil && p.node.ByName[key] != nil {
		return place{node: p.node.ByName[key].Node}
	}
	return place{}
}
