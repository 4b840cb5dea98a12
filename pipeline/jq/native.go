package jq

import (
	"strings"

	"github.com/itchyny/gojq"
)

// An expr is a part of a program: one for what always has one output, gen for
// the rest.
type expr struct {
	one func(v any) any
	// gen makes the function that calls next with each output. It is called
	// once, for the function has variables of its own.
	gen func(next func(any)) func(v any)
	// literal: one is value, whatever v is.
	literal bool
	value   any
	same    bool // the output is the input
}

// each is e with next after it.
func (e expr) each(next func(any)) func(v any) {
	if e.one == nil {
		return e.gen(next)
	}
	one := e.one
	return func(v any) { next(one(v)) }
}

func single(one func(any) any) expr { return expr{one: one} }

func literal(v any) expr {
	return expr{one: func(any) any { return v }, literal: true, value: v}
}

var identity = expr{one: func(v any) any { return v }, same: true}

// A builder makes the functions of a program.
type builder struct {
	r      *runner
	vars   []*binding // in scope, innermost last
	frame  *frameOf   // of the definition that is built
	leaves int
}

// A binding is a variable.
type binding struct {
	name  string
	value any
}

// query is q in its fast form, or as a leaf.
func (b *builder) query(q *gojq.Query) expr {
	if e, ok := b.native(q); ok {
		return e
	}
	return b.leaf(q)
}

// native is q in its fast form, if it has one.
func (b *builder) native(q *gojq.Query) (expr, bool) {
	if q.Meta != nil || len(q.Imports) > 0 || len(q.FuncDefs) > 0 {
		return expr{}, false
	}
	if q.Term != nil {
		return b.term(q.Term)
	}
	switch q.Op {
	case gojq.OpPipe:
		if len(q.Patterns) > 0 {
			return b.bind(q)
		}
		return pipe(b.query(q.Left), b.query(q.Right)), true
	case gojq.OpComma:
		return b.comma(b.query(q.Left), b.query(q.Right)), true
	case gojq.OpAlt:
		return b.alternative(b.query(q.Left), b.query(q.Right)), true
	case gojq.OpAnd:
		return b.logic(b.query(q.Left), b.query(q.Right), false), true
	case gojq.OpOr:
		return b.logic(b.query(q.Left), b.query(q.Right), true), true
	}
	if fn := b.r.operator(q.Op); fn != nil {
		return b.binary(q.Op, fn, b.query(q.Left), b.query(q.Right)), true
	}
	return expr{}, false
}

// termOf is t in its fast form, or as a leaf.
func (b *builder) termOf(t *gojq.Term) expr { return b.query(&gojq.Query{Term: t}) }

func (b *builder) term(t *gojq.Term) (expr, bool) {
	if n := len(t.SuffixList); n > 0 {
		return b.suffix(t, t.SuffixList[n-1])
	}
	switch t.Type {
	case gojq.TermTypeIdentity:
		return identity, true
	case gojq.TermTypeRecurse:
		return b.recurse(), true
	case gojq.TermTypeNull:
		return literal(nil), true
	case gojq.TermTypeTrue:
		return literal(true), true
	case gojq.TermTypeFalse:
		return literal(false), true
	case gojq.TermTypeNumber:
		return literal(constant(&gojq.Query{Term: t})), true
	case gojq.TermTypeIndex:
		return b.index(identity, t.Index)
	case gojq.TermTypeFunc:
		return b.call(t.Func)
	case gojq.TermTypeObject:
		return b.object(t.Object)
	case gojq.TermTypeArray:
		return b.array(t.Array), true
	case gojq.TermTypeUnary:
		return b.unary(t)
	case gojq.TermTypeString:
		return b.text(t.Str)
	case gojq.TermTypeIf:
		return b.cond(t.If), true
	case gojq.TermTypeTry:
		if t.Try.Catch != nil {
			return expr{}, false
		}
		return b.try(b.query(t.Try.Body), t)
	case gojq.TermTypeReduce:
		return b.reduce(t.Reduce)
	case gojq.TermTypeQuery:
		return b.query(t.Query), true
	}
	return expr{}, false
}

// suffix is t, whose last suffix is s. As in gojq, a ? is for the suffix before
// it, and for all of t if that is none.
func (b *builder) suffix(t *gojq.Term, s *gojq.Suffix) (expr, bool) {
	inner := *t
	inner.SuffixList = t.SuffixList[:len(t.SuffixList)-1]
	switch {
	case s.Index != nil:
		return b.index(b.termOf(&inner), s.Index)
	case s.Iter:
		return pipe(b.termOf(&inner), b.iterate(false)), true
	case !s.Optional:
		return expr{}, false
	}
	n := len(inner.SuffixList)
	if n == 0 {
		if t.Type == gojq.TermTypeIndex {
			return b.tryIndex(identity, t.Index)
		}
		return b.try(b.termOf(&inner), t)
	}
	last := inner.SuffixList[n-1]
	if last.Index == nil && !last.Iter {
		return b.try(b.termOf(&inner), t)
	}
	inner.SuffixList = inner.SuffixList[:n-1]
	base := b.termOf(&inner)
	if last.Iter {
		return pipe(base, b.iterate(true)), true
	}
	return b.tryIndex(base, last.Index)
}

// try is e without its errors, which is t. One that has gone on with an output
// must not catch what happens to it. Whether it is an error that e is stuck
// with, gojq has to say.
func (b *builder) try(e expr, t *gojq.Term) (expr, bool) {
	if e.one == nil {
		return expr{}, false
	}
	r, one, leaf := b.r, e.one, b.leaf(&gojq.Query{Term: t})
	return expr{gen: func(next func(any)) func(any) {
		careful := leaf.each(next)
		return func(v any) {
			if x, ok := r.try(one, v); ok {
				next(x)
			} else {
				careful(v)
			}
		}
	}}, true
}

func (b *builder) call(f *gojq.Func) (expr, bool) {
	if strings.HasPrefix(f.Name, "$") {
		for i := len(b.vars) - 1; i >= 0; i-- {
			if v := b.vars[i]; v.name == f.Name {
				return single(func(any) any { return v.value }), true
			}
		}
		return expr{}, false
	}
	if b.frame != nil && len(f.Args) == 0 {
		if q := b.frame.args[f.Name]; q != nil {
			// An argument belongs to where the call stands.
			was := b.frame
			b.frame = was.outer
			e := b.query(q)
			b.frame = was
			return e, true
		}
	}
	if def := definitions()[nameOf(f.Name, len(f.Args))]; def != nil {
		was := b.frame
		b.frame = &frameOf{args: map[string]*gojq.Query{}, outer: was}
		for i, name := range def.Args {
			b.frame.args[name] = f.Args[i]
		}
		e := b.query(def.Body)
		b.frame = was
		return e, true
	}
	return b.builtin(f)
}

// bind is "left as $x | right".
func (b *builder) bind(q *gojq.Query) (expr, bool) {
	if len(q.Patterns) != 1 || q.Patterns[0].Name == "" {
		return expr{}, false
	}
	left, x := b.query(q.Left), &binding{name: q.Patterns[0].Name}
	b.vars = append(b.vars, x)
	right := b.query(q.Right)
	b.vars = b.vars[:len(b.vars)-1]
	if left.one != nil && right.one != nil {
		l, r := left.one, right.one
		return single(func(v any) any { x.value = l(v); return r(v) }), true
	}
	return expr{gen: func(next func(any)) func(any) {
		var in any
		body := right.each(next)
		from := left.each(func(v any) { x.value = v; body(in) })
		return func(v any) { in = v; from(v) }
	}}, true
}

// reduce is "reduce source as $x (start; update)". Of several updates the last
// counts, and without one all stays as it is.
func (b *builder) reduce(t *gojq.Reduce) (expr, bool) {
	if len(t.Patterns) != 1 || t.Patterns[0].Name == "" {
		return expr{}, false
	}
	source, start, x := b.query(t.Query), b.query(t.Start), &binding{name: t.Patterns[0].Name}
	b.vars = append(b.vars, x)
	update := b.query(t.Update)
	b.vars = b.vars[:len(b.vars)-1]
	if start.one == nil {
		return expr{}, false
	}
	r := b.r
	var state any
	change := update.each(func(v any) { state = v })
	body := source.each(func(v any) {
		r.step()
		x.value = v
		change(state)
	})
	return single(func(v any) any {
		state = start.one(v)
		body(v)
		return state
	}), true
}

// cond is if.
func (b *builder) cond(t *gojq.If) expr {
	test, then, other := b.query(t.Cond), b.query(t.Then), identity
	switch {
	case len(t.Elif) > 0:
		other = b.cond(&gojq.If{Cond: t.Elif[0].Cond, Then: t.Elif[0].Then, Elif: t.Elif[1:], Else: t.Else})
	case t.Else != nil:
		other = b.query(t.Else)
	}
	if test.one != nil && then.one != nil && other.one != nil {
		c, yes, no := test.one, then.one, other.one
		return single(func(v any) any {
			if truth(c(v)) {
				return yes(v)
			}
			return no(v)
		})
	}
	return expr{gen: func(next func(any)) func(any) {
		yes, no := then.each(next), other.each(next)
		if c := test.one; c != nil {
			return func(v any) {
				if truth(c(v)) {
					yes(v)
				} else {
					no(v)
				}
			}
		}
		var in any
		body := test.each(func(x any) {
			if truth(x) {
				yes(in)
			} else {
				no(in)
			}
		})
		return func(v any) { in = v; body(v) }
	}}
}
