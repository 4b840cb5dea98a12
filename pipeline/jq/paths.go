package jq

import (
	"encoding/json"
	"math/big"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// pipe is l | r.
func pipe(l, r expr) expr {
	switch {
	case l.same:
		return r
	case r.same:
		return l
	}
	if l.one != nil && r.one != nil {
		f, g := l.one, r.one
		return single(func(v any) any { return g(f(v)) })
	}
	return expr{gen: func(next func(any)) func(any) { return l.each(r.each(next)) }}
}

func (b *builder) comma(left, right expr) expr {
	r := b.r
	return expr{gen: func(next func(any)) func(any) {
		first, then := left.each(next), right.each(next)
		return func(v any) {
			if first(v); r.cut == 0 {
				then(v)
			}
		}
	}}
}

// iterate is .[], or .[]? if quiet.
func (b *builder) iterate(quiet bool) expr {
	r := b.r
	return expr{gen: func(next func(any)) func(any) {
		return func(v any) {
			list, ok := members(v)
			if !ok && !quiet {
				r.stuck()
			}
			for _, e := range list {
				r.step()
				if next(e); r.cut != 0 {
					return
				}
			}
		}
	}}
}

// members is what .[] puts out.
func members(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case *object:
		return v.vals, true
	}
	return nil, false
}

// recurse is .. and recurse.
func (b *builder) recurse() expr {
	r := b.r
	return expr{gen: func(next func(any)) func(any) {
		var down func(v any)
		down = func(v any) {
			r.step()
			if next(v); r.cut != 0 {
				return
			}
			list, _ := members(v)
			for _, e := range list {
				if down(e); r.cut != 0 {
					return
				}
			}
		}
		return down
	}}
}

// field is .key of objects of any shape, fastest where they share one.
func (r *runner) field(key string) func(v any) any {
	var last *shape
	at := -1
	return func(v any) any {
		o, ok := v.(*object)
		if !ok {
			if v != nil {
				r.stuck()
			}
			return nil
		}
		if o.shape != last {
			last, at = o.shape, o.shape.find(key)
		}
		if at < 0 {
			return nil
		}
		return o.vals[at]
	}
}

// index is base with [x].
func (b *builder) index(base expr, x *gojq.Index) (expr, bool) {
	if name, ok := fieldName(x); ok {
		return pipe(base, single(b.r.field(name))), true
	}
	f, fixed, ok := b.at(x)
	switch one := base.one; {
	case !ok:
		return expr{}, false
	case fixed:
		return pipe(base, single(func(v any) any { return f(v, nil) })), true
	case one != nil:
		return single(func(v any) any { return f(one(v), v) }), true
	}
	return expr{}, false
}

// tryIndex is base with [x]?, where x sees the output of base.
func (b *builder) tryIndex(base expr, x *gojq.Index) (expr, bool) {
	name, ok := fieldName(x)
	if !ok {
		f, _, ok := b.at(x)
		if !ok {
			return expr{}, false
		}
		e, ok := b.try(single(func(v any) any { return f(v, v) }),
			&gojq.Term{Type: gojq.TermTypeIndex, Index: x, SuffixList: []*gojq.Suffix{{Optional: true}}})
		return pipe(base, e), ok
	}
	get := b.r.field(name)
	return pipe(base, expr{gen: func(next func(any)) func(any) {
		return func(v any) {
			if _, ok := v.(*object); ok || v == nil {
				next(get(v))
			}
		}
	}}), true
}

func fieldName(x *gojq.Index) (string, bool) {
	switch {
	case x.Name != "":
		return x.Name, true
	case x.Str != nil:
		return x.Str.Str, x.Str.Queries == nil
	case !x.IsSlice && x.Start.Term != nil && x.Start.Term.Type == gojq.TermTypeString && len(x.Start.Term.SuffixList) == 0 && len(x.Start.FuncDefs) == 0:
		return x.Start.Term.Str.Str, x.Start.Term.Str.Queries == nil
	}
	return "", false
}

// at is what [x] takes of of, with the expressions in x over in; fixed if those
// are literals.
func (b *builder) at(x *gojq.Index) (f func(of, in any) any, fixed, ok bool) {
	r := b.r
	part := func(q *gojq.Query) expr {
		if q == nil {
			return literal(nil)
		}
		return b.query(q)
	}
	var key expr
	switch {
	case x.Str != nil:
		if key, ok = b.text(x.Str); !ok {
			return nil, false, false
		}
	case x.IsSlice:
		start, end := part(x.Start), part(x.End)
		from, to := start.one, end.one
		return func(of, in any) any { return r.must(slice(of, from(in), to(in))) }, start.literal && end.literal, from != nil && to != nil
	default:
		key = part(x.Start)
	}
	one := key.one
	return func(of, in any) any { return r.must(element(of, one(in))) }, key.literal, one != nil
}

// must is v, if ok.
func (r *runner) must(v any, ok bool) any {
	if !ok {
		r.stuck()
	}
	return v
}

// element is of[key].
func element(of, key any) (any, bool) {
	switch key := key.(type) {
	case string:
		switch of := of.(type) {
		case nil:
			return nil, true
		case *object:
			return of.get(key), true
		}
	case int, float64, *big.Int, json.Number:
		i, _ := gojq.ToInt(key)
		switch of := of.(type) {
		case nil:
			return nil, true
		case []any:
			if i = within(i, -1, len(of)); i >= 0 && i < len(of) {
				return of[i], true
			}
			return nil, true
		}
	}
	return nil, false
}

// slice is of[start:end], where nil and integers stand for themselves.
func slice(of, start, end any) (any, bool) {
	if of == nil {
		return nil, true
	}
	list, isList := of.([]any)
	text, isText := of.(string)
	n := len(list)
	switch {
	case isText:
		n = utf8.RuneCountInString(text)
	case !isList:
		return nil, false
	}
	from, to := 0, n
	if start != nil {
		i, ok := start.(int)
		if !ok {
			return nil, false
		}
		from = within(i, 0, n)
	}
	if end != nil {
		i, ok := end.(int)
		if !ok {
			return nil, false
		}
		to = within(i, from, n)
	}
	if isList {
		return list[from:to:to], true
	}
	return text[runeOffset(text, from):runeOffset(text, to)], true
}

// runeOffset is where the rune of that number begins in s, or the end of s.
func runeOffset(s string, n int) int {
	for i := range s {
		if n--; n < 0 {
			return i
		}
	}
	return len(s)
}

// within counts i from the end of n if it is negative, and keeps it in low…n.
func within(i, low, n int) int {
	if i < 0 {
		i += n
	}
	return min(max(i, low), max(n, low))
}
