package jq

import (
	"errors"
	"reflect"

	"github.com/itchyny/gojq"
)

// maxLeaves bounds what of a fast program may be in gojq: each takes some
// twenty microseconds to compile.
const maxLeaves = 32

// leaf is q as gojq runs it, for what has no fast form.
func (b *builder) leaf(q *gojq.Query) expr {
	if b.leaves++; b.leaves > maxLeaves {
		panic(giveUp{errNoFast})
	}
	bound := b.free(q)
	names := make([]string, len(bound))
	for i, v := range bound {
		names[i] = v.name
	}
	code, err := gojq.Compile(q, gojq.WithVariables(names))
	if err != nil {
		panic(giveUp{errNoFast}) // it refers to what only the whole has
	}
	r := b.r
	return expr{gen: func(next func(any)) func(any) {
		return func(v any) {
			values := make([]any, len(bound))
			for i, v := range bound {
				values[i] = r.toGo(v.value)
			}
			outs := code.RunWithContext(r.stop, r.toGo(v), values...)
			for {
				x, ok := outs.Next()
				if !ok {
					return
				}
				if err, failed := x.(error); failed {
					r.failed(err)
				}
				r.step()
				if next(r.fromGo(x)); r.cut != 0 {
					return
				}
			}
		}
	}}
}

// failed ends the fast program for an error of gojq.
func (r *runner) failed(err error) {
	r.poll()
	if halt := (*gojq.HaltError)(nil); errors.As(err, &halt) || r.stop.err != nil {
		panic(giveUp{errGiveUp}) // no try catches it
	}
	r.stuck()
}

// free is the variables in scope that q may refer to.
func (b *builder) free(q *gojq.Query) (bound []*binding) {
	names := map[string]bool{}
	walkQuery(q, func(n any) {
		switch n := n.(type) {
		case *gojq.Func:
			names[n.Name] = true
		case *gojq.ObjectKeyVal:
			names[n.Key] = true
		}
	})
	seen := map[string]bool{}
	for i := len(b.vars) - 1; i >= 0; i-- {
		if v := b.vars[i]; names[v.name] && !seen[v.name] {
			seen[v.name] = true
			bound = append(bound, v)
		}
	}
	return bound
}

// walkQuery calls visit for each pointer in a query.
func walkQuery(q *gojq.Query, visit func(n any)) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				return
			}
			visit(v.Interface())
			walk(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		}
	}
	walk(reflect.ValueOf(q))
}

// constant is the value of a query without input: a number as gojq reads it.
func constant(q *gojq.Query) any {
	v, ok := q.Run(nil).Next()
	if _, failed := v.(error); failed || !ok {
		panic(giveUp{errNoFast})
	}
	return v
}
