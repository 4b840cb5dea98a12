package jq

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// plain is a function without arguments, or nil. It is false where gojq would
// have an error, or knows better.
func (r *runner) plain(name string) func(v any) (any, bool) {
	switch name {
	case "not":
		return func(v any) (any, bool) { return !truth(v), true }
	case "type":
		return func(v any) (any, bool) { return typeOf(v), true }
	case "length":
		return length
	case "keys":
		return keys
	case "to_entries":
		return r.entries
	case "add":
		return r.add
	case "tostring":
		return func(v any) (any, bool) { return r.text(v), true }
	case "tojson":
		return func(v any) (any, bool) { return r.json(v), true }
	case "tonumber":
		return toNumber
	case "reverse":
		return r.reverse
	case "flatten":
		return r.flatten
	case "sort":
		return func(v any) (any, bool) { return r.onList(v, r.sortBy) }
	case "unique":
		return func(v any) (any, bool) { return r.onList(v, r.uniqueBy) }
	case "min":
		return func(v any) (any, bool) { return r.onList(v, r.minBy) }
	case "max":
		return func(v any) (any, bool) { return r.onList(v, r.maxBy) }
	case "ascii_downcase":
		return onText(func(s string) string { return strings.Map(lower, s) })
	case "ascii_upcase":
		return onText(func(s string) string { return strings.Map(upper, s) })
	case "trim":
		return onText(strings.TrimSpace)
	case "ltrim":
		return onText(func(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) })
	case "rtrim":
		return onText(func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) })
	case "floor":
		return onFloat(math.Floor)
	case "ceil":
		return onFloat(math.Ceil)
	case "round":
		return onFloat(math.Round)
	case "sqrt":
		return onFloat(math.Sqrt)
	case "fabs":
		return onFloat(math.Abs)
	}
	return nil
}

// withArg is a function with one argument, or nil.
func (r *runner) withArg(name string) func(v, x any) (any, bool) {
	switch name {
	case "has":
		return has
	case "contains":
		return func(v, x any) (any, bool) { return r.contains(v, x) }
	case "inside":
		return func(v, x any) (any, bool) { return r.contains(x, v) }
	case "startswith":
		return onTexts(func(s, t string) any { return strings.HasPrefix(s, t) })
	case "endswith":
		return onTexts(func(s, t string) any { return strings.HasSuffix(s, t) })
	case "ltrimstr":
		return onTexts(func(s, t string) any { return strings.TrimPrefix(s, t) })
	case "rtrimstr":
		return onTexts(func(s, t string) any { return strings.TrimSuffix(s, t) })
	case "split":
		return onTexts(split)
	case "join":
		return r.join
	}
	return nil
}

func onText(f func(string) string) func(any) (any, bool) {
	return func(v any) (any, bool) {
		s, ok := v.(string)
		if !ok {
			return nil, false
		}
		return f(s), true
	}
}

func onTexts(f func(s, t string) any) func(v, x any) (any, bool) {
	return func(v, x any) (any, bool) {
		s, ok1 := v.(string)
		t, ok2 := x.(string)
		if !ok1 || !ok2 {
			return nil, false
		}
		return f(s, t), true
	}
}

func onFloat(f func(float64) float64) func(any) (any, bool) {
	return func(v any) (any, bool) {
		x, ok := gojq.ToFloat64(v)
		return f(x), ok
	}
}

func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

func upper(r rune) rune {
	if 'a' <= r && r <= 'z' {
		r -= 'a' - 'A'
	}
	return r
}

func split(s, sep string) any {
	if s == "" {
		return []any{}
	}
	parts := strings.Split(s, sep)
	list := make([]any, len(parts))
	for i, p := range parts {
		list[i] = p
	}
	return list
}

func typeOf(v any) string {
	if _, ok := v.(*object); ok {
		return "object"
	}
	return gojq.TypeOf(v)
}

func length(v any) (any, bool) {
	switch v := v.(type) {
	case nil:
		return 0, true
	case string:
		return utf8.RuneCountInString(v), true
	case []any:
		return len(v), true
	case *object:
		return len(v.vals), true
	case int:
		if v >= 0 {
			return v, true
		}
		return -v, v != math.MinInt
	case float64:
		return math.Abs(v), true
	case json.Number:
		return json.Number(strings.TrimPrefix(string(v), "-")), true
	case *big.Int:
		return new(big.Int).Abs(v), true
	}
	return nil, false
}

func keys(v any) (any, bool) {
	switch v := v.(type) {
	case *object:
		return v.shape.names(), true
	case []any:
		list := make([]any, len(v))
		for i := range list {
			list[i] = i
		}
		return list, true
	}
	return nil, false
}

func has(v, x any) (any, bool) {
	switch v := v.(type) {
	case nil:
		return false, true
	case []any:
		i, ok := gojq.ToInt(x)
		return i >= 0 && i < len(v), ok
	case *object:
		key, ok := x.(string)
		return ok && v.shape.find(key) >= 0, ok
	}
	return nil, false
}

var entryShape = &shape{keys: []string{"key", "value"}, quoted: []string{`{"key":`, `,"value":`}, list: []any{"key", "value"}}

func (r *runner) entries(v any) (any, bool) {
	names, ok := keys(v)
	if !ok {
		return nil, false
	}
	vals, _ := members(v)
	list := make([]any, len(vals))
	for i, e := range vals {
		r.step()
		list[i] = &object{entryShape, []any{names.([]any)[i], e}}
	}
	return list, true
}

// text is tostring.
func (r *runner) text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	}
	return r.json(v)
}

// json is tojson, as gojq writes it.
func (r *runner) json(v any) string {
	text, err := gojq.Marshal(r.toGo(v))
	if err != nil {
		r.stuck()
	}
	return string(text)
}

// toNumber reads integers of up to 15 digits; gojq knows the rest.
func toNumber(v any) (any, bool) {
	switch v := v.(type) {
	case int, float64, *big.Int, json.Number:
		return v, true
	case string:
		if len(v) > 15 || strings.Trim(v, "0123456789") != "" {
			return nil, false
		}
		n, err := strconv.Atoi(v)
		return n, err == nil
	}
	return nil, false
}

func (r *runner) contains(v, x any) (any, bool) {
	switch v := v.(type) {
	case string:
		if x, ok := x.(string); ok {
			return strings.Contains(v, x), true
		}
	case []any:
		if x, ok := x.([]any); ok {
			return r.containsAll(v, x), true
		}
	case *object:
		x, ok := x.(*object)
		if !ok {
			return nil, false
		}
		for i, key := range x.shape.keys {
			at := v.shape.find(key)
			if at < 0 {
				return false, true
			}
			if in, _ := r.contains(v.vals[at], x.vals[i]); in != true {
				return false, true
			}
		}
		return true, true
	case nil, bool:
		return v == x, v == x
	default:
		if typeOf(x) == "number" {
			return gojq.Compare(v, x) == 0, true
		}
	}
	return nil, false
}

// containsAll reports whether each of xs is in an element of list.
func (r *runner) containsAll(list, xs []any) bool {
next:
	for _, x := range xs {
		for _, e := range list {
			r.step()
			if in, _ := r.contains(e, x); in == true {
				continue next
			}
		}
		return false
	}
	return true
}

func (r *runner) reverse(v any) (any, bool) {
	list, ok := v.([]any)
	turned := make([]any, len(list))
	for i, e := range list {
		turned[len(list)-1-i] = e
	}
	return turned, ok
}

func (r *runner) flatten(v any) (any, bool) {
	list, ok := members(v)
	flat := []any{}
	var add func(list []any)
	add = func(list []any) {
		for _, e := range list {
			r.step()
			if inner, ok := e.([]any); ok {
				add(inner)
			} else {
				flat = append(flat, e)
			}
		}
	}
	add(list)
	return flat, ok
}

// join is the members of v as text, with sep, which may be null, between them.
func (r *runner) join(v, sep any) (any, bool) {
	list, ok := members(v)
	between, isText := sep.(string)
	if !ok || !isText && sep != nil && len(list) > 1 {
		return nil, false
	}
	var text strings.Builder
	for i, e := range list {
		r.step()
		if i > 0 {
			text.WriteString(between)
		}
		switch e := e.(type) {
		case nil:
		case []any, *object:
			return nil, false
		default:
			text.WriteString(r.text(e))
		}
	}
	return text.String(), true
}
