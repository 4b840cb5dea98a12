package query

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/locate"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/table"
)

// A jq program that names a field which is not there does not fail: it puts out
// null, nothing, or that none were found, which reads like an answer. So a program
// whose answer is as empty as that is looked through for such a field.

const (
	// maxMissingSource bounds the programs that are looked through, in bytes.
	maxMissingSource = 1000
	// maxMissingTime bounds the look, whose answer is there without it. A document
	// of 50 MB takes 0.3 s.
	maxMissingTime = time.Second
	// missingDepth is how many levels of fields are known of.
	missingDepth = 8
)

// isEmpty reports whether an output of a program says nothing: it is null as often
// as it comes, or none of something.
func isEmpty(out jq.Output) bool {
	if out.N == 1 {
		switch string(bytes.TrimSpace(out.Data)) {
		case "null", "0", "[]", "{}", "false", `""`, "[null]":
			return true
		}
	}
	const null = "null\n"
	return len(out.Data) == out.N*len(null) && bytes.Count(out.Data, []byte(null)) == out.N
}

// missing is the error for the first field that the program names and the document
// lacks; nil if there is none for certain, or the look takes too long.
func (q *JQ) missing(ctx context.Context, in doc.Value) *doc.Error {
	ctx, cancel := context.WithTimeout(ctx, maxMissingTime)
	defer cancel()
	if rows, ok, err := table.Records(ctx, in); ok && err == nil {
		in = rows
	}
	if in.Kind == doc.Text || len(q.Program) > maxMissingSource {
		return nil
	}
	program, err := gojq.Parse(q.Program)
	if err != nil {
		return nil
	}
	root, err := schema.Survey(ctx, in, missingDepth)
	if err != nil {
		return nil
	}
	f := fieldFinder{data: in.Data}
	f.query(program, place{node: root})
	if f.missing == nil {
		return nil
	}
	var e *doc.Error
	errors.As(locate.NoField(ctx, in, f.missing), &e)
	return e
}

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
			f.query(q.Left, at)
			f.query(q.Right, at)
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
	return f.steps(out, steps)
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

// steps goes along .a[0]["b"] from at.
func (f *fieldFinder) steps(at place, steps []*gojq.Suffix) place {
	if f.missing != nil {
		return place{}
	}
	path := make(doc.Path, 0, len(steps)) // nothing follows a step that cannot be read
	for _, s := range steps {
		if step, ok := stepOf(s); ok {
			path = append(path, step)
		} else if s.Index != nil {
			break
		}
	}
	n := 0
	for _, s := range steps {
		step, ok := stepOf(s)
		switch {
		case !ok && s.Index == nil: // ?
			continue
		case !ok:
			return place{}
		case step.Kind != doc.StepKey:
			at = at.each()
		case at.lacks(step.Key, f.data):
			for n < len(path)-1 && path[len(path)-1].Kind != doc.StepKey {
				path = path[:len(path)-1]
			}
			f.missing = path
			return place{}
		default:
			at = at.member(step.Key)
		}
		n++
	}
	return at
}

// stepOf reads a step of a path, and false for ? and what only a run tells.
func stepOf(s *gojq.Suffix) (doc.Step, bool) {
	switch i := s.Index; {
	case s.Iter:
		return doc.Step{Kind: doc.StepEach}, true
	case i == nil || i.IsSlice:
	case i.Name != "":
		return doc.Step{Key: i.Name}, true
	case i.Str != nil && i.Str.Queries == nil:
		return doc.Step{Key: i.Str.Str}, true
	case i.Start != nil:
		if path, err := doc.ParsePath("[" + i.Start.String() + "]"); err == nil && len(path) == 1 {
			return path[0], true
		}
	}
	return doc.Step{}, false
}

// lacks reports that there are objects at p, and that none of them has the key.
func (p place) lacks(key string, data []byte) bool {
	switch {
	case p.lists > 0:
		return false
	case p.anywhere:
		return !bytes.Contains(data, []byte(`"`+key+`"`)) && !bytes.Contains(data, []byte(`\u`))
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

// explain adds to an empty answer, or to why the program failed on a null, the
// field that it misses.
func (q *JQ) explain(ctx context.Context, in doc.Value, out *doc.Value, failed error) error {
	var e *doc.Error
	if failed != nil && (!errors.As(failed, &e) || e.Code != doc.BadJQ || !strings.Contains(e.Text, "null")) {
		return failed
	}
	switch none := q.missing(ctx, in); {
	case none == nil:
	case failed == nil:
		out.AddNote(none.Text + "; " + none.Hint)
	default:
		e.Hint = none.Text + "; " + none.Hint
	}
	return failed
}
