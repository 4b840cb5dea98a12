package jq

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"

	"github.com/itchyny/gojq"
)

// truth is what if and select go by.
func truth(v any) bool { return v != nil && v != false }

func (b *builder) alternative(left, right expr) expr {
	if left.one != nil && right.one != nil {
		l, r := left.one, right.one
		return single(func(v any) any {
			if x := l(v); truth(x) {
				return x
			}
			return r(v)
		})
	}
	r := b.r
	return expr{gen: func(next func(any)) func(any) {
		found := false
		first := left.each(func(x any) {
			if truth(x) {
				found = true
				next(x)
			}
		})
		then := right.each(next)
		return func(v any) {
			found = false
			if first(v); r.cut == 0 && !found {
				then(v)
			}
		}
	}}
}

// logic is left or right, if or, and left and right.
func (b *builder) logic(left, right expr, or bool) expr {
	if left.one != nil && right.one != nil {
		l, r := left.one, right.one
		return single(func(v any) any {
			if truth(l(v)) == or {
				return or
			}
			return truth(r(v))
		})
	}
	return expr{gen: func(next func(any)) func(any) {
		var in any
		then := right.each(func(x any) { next(truth(x)) })
		first := left.each(func(x any) {
			if truth(x) == or {
				next(or)
			} else {
				then(in)
			}
		})
		return func(v any) { in = v; first(v) }
	}}
}

// operator is op of two values, or nil.
func (r *runner) operator(op gojq.Operator) func(x, y any) any {
	switch op {
	case gojq.OpEq:
		return func(x, y any) any { return r.compare(x, y) == 0 }
	case gojq.OpNe:
		return func(x, y any) any { return r.compare(x, y) != 0 }
	case gojq.OpGt:
		return func(x, y any) any { return r.compare(x, y) > 0 }
	case gojq.OpLt:
		return func(x, y any) any { return r.compare(x, y) < 0 }
	case gojq.OpGe:
		return func(x, y any) any { return r.compare(x, y) >= 0 }
	case gojq.OpLe:
		return func(x, y any) any { return r.compare(x, y) <= 0 }
	case gojq.OpAdd:
		return r.plus
	case gojq.OpSub:
		return r.minus
	case gojq.OpMul:
		return r.times
	case gojq.OpDiv:
		return r.divide
	case gojq.OpMod:
		return r.modulo
	}
	return nil
}

// binary is left op right: for each output of right those of left.
func (b *builder) binary(op gojq.Operator, fn func(x, y any) any, left, right expr) expr {
	if left.one != nil && right.one != nil {
		l, r := left.one, right.one
		if right.literal {
			y := right.value
			if n, ok := y.(int); ok && op >= gojq.OpEq && op <= gojq.OpLe {
				return single(func(v any) any {
					x := l(v)
					if i, ok := x.(int); ok {
						return holds(op, cmp.Compare(i, n))
					}
					return fn(x, y)
				})
			}
			return single(func(v any) any { return fn(l(v), y) })
		}
		return single(func(v any) any { return fn(l(v), r(v)) })
	}
	return expr{gen: func(next func(any)) func(any) {
		var in, y any
		inner := left.each(func(x any) { next(fn(x, y)) })
		outer := right.each(func(x any) { y = x; inner(in) })
		return func(v any) { in = v; outer(v) }
	}}
}

func holds(op gojq.Operator, c int) bool {
	switch op {
	case gojq.OpEq:
		return c == 0
	case gojq.OpNe:
		return c != 0
	case gojq.OpGt:
		return c > 0
	case gojq.OpLt:
		return c < 0
	case gojq.OpGe:
		return c >= 0
	}
	return c <= 0
}

func (b *builder) unary(t *gojq.Term) (expr, bool) {
	e := b.termOf(t.Unary.Term)
	r := b.r
	switch {
	case e.literal && t.Unary.Term.Type == gojq.TermTypeNumber:
		return literal(constant(&gojq.Query{Term: t})), true
	case e.one == nil || t.Unary.Op != gojq.OpSub:
		return expr{}, false
	}
	one := e.one
	return single(func(v any) any {
		switch x := one(v).(type) {
		case int:
			if x != math.MinInt {
				return -x
			}
		case float64:
			return -x
		case json.Number:
			if s, ok := strings.CutPrefix(string(x), "-"); ok {
				return json.Number(s)
			}
			return "-" + x
		}
		r.stuck()
		return nil
	}), true
}

// compare orders values as gojq.Compare does.
func (r *runner) compare(x, y any) int {
	switch x := x.(type) {
	case int:
		if y, ok := y.(int); ok {
			return cmp.Compare(x, y)
		}
	case string:
		if y, ok := y.(string); ok {
			return strings.Compare(x, y)
		}
	case []any:
		if y, ok := y.([]any); ok {
			return r.compareLists(x, y)
		}
	case *object:
		if y, ok := y.(*object); ok {
			if x.shape != y.shape {
				if c := r.compareKeys(x.shape.keys, y.shape.keys); c != 0 {
					return c
				}
			}
			return r.compareLists(x.vals, y.vals)
		}
		return cmp.Compare(rank(x), rank(y))
	}
	if _, ok := y.(*object); ok {
		return cmp.Compare(rank(x), rank(y))
	}
	return gojq.Compare(x, y)
}

func (r *runner) compareLists(x, y []any) int {
	for i := range min(len(x), len(y)) {
		r.step()
		if c := r.compare(x[i], y[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x), len(y))
}

func (r *runner) compareKeys(x, y []string) int {
	for i := range min(len(x), len(y)) {
		if c := strings.Compare(x[i], y[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x), len(y))
}

// rank orders types, scalars below containers.
func rank(v any) int {
	switch v.(type) {
	case []any:
		return 1
	case *object:
		return 2
	}
	return 0
}

// parsed is a number as one to compute with; numbers of documents may be kept
// as they are spelt.
func parsed(v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if i, err := n.Int64(); err == nil && math.MinInt <= i && i <= math.MaxInt {
		return int(i)
	}
	if strings.ContainsAny(string(n), ".eE") {
		if f, err := n.Float64(); err == nil {
			return f
		}
	}
	return v // gojq knows
}

// floats is x and y as float64, if both are int or float64.
func floats(x, y any) (a, b float64, ok bool) {
	switch x := parsed(x).(type) {
	case int:
		a = float64(x)
	case float64:
		a = x
	default:
		return 0, 0, false
	}
	switch y := parsed(y).(type) {
	case int:
		b = float64(y)
	case float64:
		b = y
	default:
		return 0, 0, false
	}
	return a, b, true
}

// ints is x and y, if both are int.
func ints(x, y any) (a, b int, ok bool) {
	a, ok = parsed(x).(int)
	if ok {
		b, ok = parsed(y).(int)
	}
	return a, b, ok
}

func (r *runner) plus(x, y any) any {
	if a, b, ok := ints(x, y); ok {
		if c := a + b; (c >= a) == (b >= 0) {
			return c
		}
		return r.inGo("+", x, y)
	}
	if a, b, ok := floats(x, y); ok {
		return a + b
	}
	switch {
	case x == nil:
		return r.spelt(y)
	case y == nil:
		return r.spelt(x)
	}
	switch a := x.(type) {
	case string:
		if b, ok := y.(string); ok {
			return a + b
		}
	case []any:
		if b, ok := y.([]any); ok {
			switch {
			case len(a) == 0:
				return y
			case len(b) == 0:
				return x
			}
			return append(append(make([]any, 0, len(a)+len(b)), a...), b...)
		}
	case *object:
		if b, ok := y.(*object); ok {
			switch {
			case len(a.vals) == 0:
				return y
			case len(b.vals) == 0:
				return x
			}
			return r.merge(a, b)
		}
	}
	return r.inGo("+", x, y)
}
