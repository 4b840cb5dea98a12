package jq

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// collect is the outputs of e as a list. It is not to be called before the
// function that it returns has returned.
func (b *builder) collect(e expr) func(v any) []any {
	r := b.r
	if e.one != nil {
		one := e.one
		return func(v any) []any { return []any{one(v)} }
	}
	var list []any
	body := e.gen(func(v any) { list = append(list, v); r.step() })
	return func(v any) []any {
		list = []any{}
		body(v)
		return list
	}
}

func (b *builder) array(a *gojq.Array) expr {
	if a.Query == nil {
		return literal([]any{})
	}
	list := b.collect(b.query(a.Query))
	return single(func(v any) any { return list(v) })
}

// A member is a key and a value of an object that a program makes.
type member struct {
	name  string // if key is nil
	key   func(any) any
	value expr
}

func (b *builder) object(o *gojq.Object) (expr, bool) {
	if len(o.KeyVals) == 0 {
		return literal(&object{shape: &shape{}}), true
	}
	members, ones := make([]member, len(o.KeyVals)), true
	for i, kv := range o.KeyVals {
		m, ok := b.member(kv)
		if !ok {
			return expr{}, false
		}
		members[i] = m
		ones = ones && m.value.one != nil
	}
	if make := b.fixed(members); ones && make != nil {
		return single(make), true
	}
	return b.product(members), true
}

func (b *builder) member(kv *gojq.ObjectKeyVal) (m member, ok bool) {
	var key expr
	switch {
	case strings.HasPrefix(kv.Key, "$"):
		m.name = kv.Key[1:]
		if kv.Val != nil { // {$x: …} takes the value of $x as key
			return m, false
		}
		m.value, ok = b.call(&gojq.Func{Name: kv.Key})
		return m, ok
	case kv.Key != "":
		m.name = kv.Key
	case kv.KeyString != nil && kv.KeyString.Queries == nil:
		m.name = kv.KeyString.Str
	case kv.KeyString != nil:
		if key, ok = b.text(kv.KeyString); !ok || kv.Val == nil {
			return m, false
		}
	case kv.KeyQuery != nil:
		key = b.query(kv.KeyQuery)
	default:
		return m, false
	}
	if m.key = key.one; m.key == nil && key.gen != nil {
		return m, false
	}
	if kv.Val == nil {
		m.value = single(b.r.field(m.name))
	} else {
		m.value = b.query(kv.Val)
	}
	return m, true
}

// fixed makes objects whose keys the program names and whose values are one
// each; nil for others.
func (b *builder) fixed(members []member) func(any) any {
	names, values := make([]string, len(members)), make([]func(any) any, len(members))
	for i, m := range members {
		if m.key != nil || m.value.one == nil {
			return nil
		}
		names[i], values[i] = m.name, m.value.one
	}
	var slots []int
	sh := b.r.conv.shapes.object(names, make([]any, len(names))).shape
	for _, name := range names {
		slots = append(slots, sh.find(name))
	}
	return func(v any) any {
		vals := make([]any, len(sh.keys))
		for i, f := range values {
			vals[slots[i]] = f(v)
		}
		return &object{sh, vals}
	}
}

// product makes an object of each combination of values, those of the last key
// changing first.
func (b *builder) product(members []member) expr {
	r := b.r
	return expr{gen: func(next func(any)) func(any) {
		var in any
		keys, vals := make([]string, len(members)), make([]any, len(members))
		body := func(any) { next(r.conv.shapes.object(slices.Clone(keys), vals)) }
		for i, m := range slices.Backward(members) {
			then := body
			value := m.value.each(func(x any) { vals[i] = x; then(in) })
			body = func(any) {
				keys[i] = m.name
				if m.key != nil {
					s, ok := m.key(in).(string)
					if !ok {
						r.stuck()
					}
					keys[i] = s
				}
				value(in)
			}
		}
		return func(v any) { in = v; body(v) }
	}}
}

// text is a string, with what is interpolated.
func (b *builder) text(s *gojq.String) (expr, bool) {
	if s.Queries == nil {
		return literal(s.Str), true
	}
	parts := make([]func(any) any, len(s.Queries))
	for i, q := range s.Queries {
		if q.Term == nil {
			q = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: q}}
		}
		if parts[i] = b.query(q).one; parts[i] == nil {
			return expr{}, false
		}
	}
	r := b.r
	return single(func(v any) any {
		var text strings.Builder
		for _, part := range parts {
			text.WriteString(r.text(part(v)))
		}
		return text.String()
	}), true
}
