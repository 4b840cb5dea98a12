package jq

import (
	"regexp"
	"strings"

	"github.com/itchyny/gojq"
)

// builtin is a call of a function that gojq has in Go, or that is too often
// used to be a definition.
func (b *builder) builtin(f *gojq.Func) (expr, bool) {
	r := b.r
	switch nameOf(f.Name, len(f.Args)) {
	case "empty/0":
		return expr{gen: func(func(any)) func(any) { return func(any) {} }}, true
	case "recurse/0":
		return b.recurse(), true
	case "select/1":
		return b.selects(b.query(f.Args[0])), true
	case "isempty/1":
		return b.isEmpty(b.query(f.Args[0])), true
	case "first/1":
		return b.limit(literal(1), b.query(f.Args[0])), true
	case "limit/2":
		n := b.query(f.Args[0])
		return b.limit(n, b.query(f.Args[1])), n.one != nil
	case "last/1":
		return b.last(b.query(f.Args[0])), true
	case "range/1":
		return b.numbers(literal(0), b.query(f.Args[0]))
	case "range/2":
		from := b.query(f.Args[0])
		return b.numbers(from, b.query(f.Args[1]))
	case "map_values/1":
		return b.mapValues(b.query(f.Args[0])), true
	case "test/1", "test/2":
		return b.test(f.Args)
	case "sort_by/1":
		return b.byKey(f.Args[0], r.sortBy), true
	case "group_by/1":
		return b.byKey(f.Args[0], r.groupBy), true
	case "unique_by/1":
		return b.byKey(f.Args[0], r.uniqueBy), true
	case "min_by/1":
		return b.byKey(f.Args[0], r.minBy), true
	case "max_by/1":
		return b.byKey(f.Args[0], r.maxBy), true
	}
	switch len(f.Args) {
	case 0:
		if fn := r.plain(f.Name); fn != nil {
			return single(func(v any) any { return r.must(fn(v)) }), true
		}
	case 1:
		if fn := r.withArg(f.Name); fn != nil {
			return b.applied(fn, b.query(f.Args[0])), true
		}
	}
	return expr{}, false
}

// applied is fn of the input and each output of arg.
func (b *builder) applied(fn func(v, x any) (any, bool), arg expr) expr {
	r := b.r
	if one := arg.one; one != nil {
		return single(func(v any) any { return r.must(fn(v, one(v))) })
	}
	return expr{gen: func(next func(any)) func(any) {
		var in any
		body := arg.each(func(x any) { next(r.must(fn(in, x))) })
		return func(v any) { in = v; body(v) }
	}}
}

func (b *builder) selects(cond expr) expr {
	return expr{gen: func(next func(any)) func(any) {
		if one := cond.one; one != nil {
			return func(v any) {
				if truth(one(v)) {
					next(v)
				}
			}
		}
		var in any
		body := cond.each(func(x any) {
			if truth(x) {
				next(in)
			}
		})
		return func(v any) { in = v; body(v) }
	}}
}

func (b *builder) isEmpty(e expr) expr {
	r := b.r
	if e.one != nil {
		return single(func(v any) any { e.one(v); return false })
	}
	id := r.newCut()
	body := e.each(func(any) { r.cut = id })
	return single(func(v any) any { body(v); return !r.uncut(id) })
}

// limit is limit(n; e). For first(e) gojq breaks before it goes on with the
// output, which makes no difference.
func (b *builder) limit(n, e expr) expr {
	r := b.r
	return expr{gen: func(next func(any)) func(any) {
		id, left := r.newCut(), 0
		body := e.each(func(x any) {
			left--
			if next(x); r.cut == 0 && left <= 0 {
				r.cut = id
			}
		})
		return func(v any) {
			k, ok := n.one(v).(int)
			if !ok || k < 0 {
				r.stuck()
			}
			if left = k; left > 0 {
				body(v)
				r.uncut(id)
			}
		}
	}}
}

func (b *builder) last(e expr) expr {
	return expr{gen: func(next func(any)) func(any) {
		var last any
		some := false
		body := e.each(func(x any) { last, some = x, true })
		return func(v any) {
			some = false
			if body(v); some {
				next(last)
			}
		}
	}}
}

// numbers is range(from; to) of integers.
func (b *builder) numbers(from, to expr) (expr, bool) {
	r := b.r
	return expr{gen: func(next func(any)) func(any) {
		return func(v any) {
			end, ok1 := to.one(v).(int)
			i, ok2 := from.one(v).(int)
			if !ok1 || !ok2 {
				r.stuck()
			}
			for ; i < end && r.cut == 0; i++ {
				r.step()
				next(i)
			}
		}
	}}, from.one != nil && to.one != nil
}

// mapValues is .[] |= f: of several outputs the first counts, and members
// without one go.
func (b *builder) mapValues(f expr) expr {
	r := b.r
	var got any
	id := r.newCut()
	body := f.each(func(x any) { got = x; r.cut = id })
	if one := f.one; one != nil {
		body = func(v any) { got = one(v); r.cut = id }
	}
	return single(func(v any) any {
		list, ok := members(v)
		if !ok {
			r.stuck()
		}
		o, _ := v.(*object)
		vals, keys := make([]any, 0, len(list)), []string(nil)
		for i, e := range list {
			r.step()
			if body(e); r.uncut(id) {
				vals = append(vals, got)
				if o != nil {
					keys = append(keys, o.shape.keys[i])
				}
			}
		}
		switch {
		case o == nil:
			return vals
		case len(vals) == len(list):
			return &object{o.shape, vals}
		}
		return r.conv.shapes.object(keys, vals)
	})
}

// test is test(re; flags) where both are literals.
func (b *builder) test(args []*gojq.Query) (expr, bool) {
	text := make([]string, 2)
	for i, q := range args {
		if q.Term == nil || q.Term.Type != gojq.TermTypeString || len(q.Term.SuffixList) > 0 || q.Term.Str.Queries != nil || len(q.FuncDefs) > 0 {
			return expr{}, false
		}
		text[i] = q.Term.Str.Str
	}
	pattern, flags := text[0], text[1]
	if strings.Trim(flags, "gim") != "" {
		return expr{}, false
	}
	if strings.Contains(flags, "i") {
		pattern = "(?i)" + pattern
	}
	if strings.Contains(flags, "m") {
		pattern = "(?s)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return expr{}, false
	}
	r := b.r
	return single(func(v any) any {
		s, ok := v.(string)
		if !ok {
			r.stuck()
		}
		return re.MatchString(s)
	}), true
}
