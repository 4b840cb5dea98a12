package jq

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// byKey is fn of a list and the key of each of its elements. As in gojq a key
// is the list of all outputs of q; where that has one it stands for itself,
// which compares in the same way.
func (b *builder) byKey(q *gojq.Query, fn func(list, keys []any) any) expr {
	e, r := b.query(q), b.r
	key := e.one
	if key == nil {
		collect := b.collect(e)
		key = func(v any) any { return collect(v) }
	}
	return single(func(v any) any {
		list, ok := v.([]any)
		if !ok {
			r.stuck()
		}
		keys := make([]any, len(list))
		for i, e := range list {
			r.step()
			keys[i] = key(e)
		}
		return fn(list, keys)
	})
}

// onList is fn of v as a list with itself as keys.
func (r *runner) onList(v any, fn func(list, keys []any) any) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	return fn(list, list), true
}

// order is the indexes of keys, sorted by them, equal ones as they stand.
func (r *runner) order(keys []any) []int {
	if texts, ok := allOf[string](keys); ok {
		return ranked(r, texts)
	}
	if ints, ok := allOf[int](keys); ok {
		return ranked(r, ints)
	}
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	compare := func(i, j int) int { r.step(); return r.compare(keys[i], keys[j]) }
	if slices.ContainsFunc(keys, func(k any) bool { return !r.ordered(k) }) {
		// What comes out then depends on the algorithm. This is gojq's.
		slices.SortStableFunc(order, compare)
		return order
	}
	slices.SortFunc(order, func(i, j int) int {
		if c := compare(i, j); c != 0 {
			return c
		}
		return cmp.Compare(i, j)
	})
	return order
}

// ranked is order for keys of one type.
func ranked[T cmp.Ordered](r *runner, keys []T) []int {
	type pair struct {
		key T
		at  int
	}
	pairs := make([]pair, len(keys))
	for i, k := range keys {
		pairs[i] = pair{k, i}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		r.step()
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		return cmp.Compare(a.at, b.at)
	})
	order := make([]int, len(pairs))
	for i, p := range pairs {
		order[i] = p.at
	}
	return order
}

// ordered reports whether v compares like a number on a line, with others that
// do: neither NaN nor integers that floats do not tell apart.
func (r *runner) ordered(v any) bool {
	r.step()
	switch v := parsed(v).(type) {
	case nil, bool, string:
		return true
	case int:
		return -1<<53 <= v && v <= 1<<53
	case float64:
		return !math.IsNaN(v)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !r.ordered(e) })
	case *object:
		return !slices.ContainsFunc(v.vals, func(e any) bool { return !r.ordered(e) })
	}
	return false
}

// allOf is list as values of type T, if all are.
func allOf[T any](list []any) ([]T, bool) {
	if len(list) == 0 {
		return nil, false
	}
	if _, ok := list[0].(T); !ok {
		return nil, false
	}
	all := make([]T, len(list))
	for i, e := range list {
		t, ok := e.(T)
		if !ok {
			return nil, false
		}
		all[i] = t
	}
	return all, true
}

// groups is the indexes of keys, equal ones together, in the order of keys.
// Texts and integers are told apart by a table, and only its keys sorted.
func (r *runner) groups(keys []any) [][]int {
	if texts, ok := allOf[string](keys); ok {
		return tabled(r, texts)
	}
	if ints, ok := allOf[int](keys); ok {
		return tabled(r, ints)
	}
	order := r.order(keys)
	var groups [][]int
	from := 0
	for i := 1; i <= len(order); i++ {
		if i == len(order) || r.compare(keys[order[from]], keys[order[i]]) != 0 {
			groups = append(groups, order[from:i:i])
			from = i
		}
	}
	return groups
}

func tabled[T cmp.Ordered](r *runner, keys []T) [][]int {
	table := map[T]int{}
	var distinct []T
	var sizes []int
	number := make([]int, len(keys))
	for i, k := range keys {
		r.step()
		n, ok := table[k]
		if !ok {
			n = len(distinct)
			table[k] = n
			distinct, sizes = append(distinct, k), append(sizes, 0)
		}
		number[i] = n
		sizes[n]++
	}
	all := make([]int, 0, len(keys))
	groups := make([][]int, len(distinct))
	order := make([]int, len(distinct))
	for n, size := range sizes {
		order[n] = n
		groups[n] = all[len(all) : len(all) : len(all)+size]
		all = all[:len(all)+size]
	}
	for i, n := range number {
		groups[n] = append(groups[n], i)
	}
	slices.SortFunc(order, func(a, b int) int { r.step(); return cmp.Compare(distinct[a], distinct[b]) })
	sorted := make([][]int, len(order))
	for i, n := range order {
		sorted[i] = groups[n]
	}
	return sorted
}

func (r *runner) sortBy(list, keys []any) any {
	sorted := make([]any, len(list))
	for i, at := range r.order(keys) {
		sorted[i] = list[at]
	}
	return sorted
}

func (r *runner) groupBy(list, keys []any) any {
	groups := r.groups(keys)
	all, out := make([]any, 0, len(list)), make([]any, len(groups))
	for i, g := range groups {
		from := len(all)
		for _, at := range g {
			all = append(all, list[at])
		}
		out[i] = all[from:len(all):len(all)]
	}
	return out
}

func (r *runner) uniqueBy(list, keys []any) any {
	groups := r.groups(keys)
	out := make([]any, len(groups))
	for i, g := range groups {
		out[i] = list[g[0]]
	}
	return out
}

func (r *runner) minBy(list, keys []any) any { return r.extreme(list, keys, true) }
func (r *runner) maxBy(list, keys []any) any { return r.extreme(list, keys, false) }

// extreme is the first of the least or the last of the greatest.
func (r *runner) extreme(list, keys []any, least bool) any {
	if len(list) == 0 {
		return nil
	}
	at := 0
	for i := 1; i < len(keys); i++ {
		r.step()
		if r.compare(keys[at], keys[i]) > 0 == least {
			at = i
		}
	}
	return list[at]
}

// add is the sum of the members of v, null if it has none.
func (r *runner) add(v any) (any, bool) {
	list, ok := members(v)
	if !ok {
		return nil, false
	}
	var sum any
	for i := 0; i < len(list); {
		r.step()
		from := i
		switch list[i].(type) {
		case nil:
			i++
			continue
		case string:
			sum, i = addRun(sum, list, i, func(run []string) string { return strings.Join(run, "") })
		case []any:
			sum, i = addRun(sum, list, i, func(run [][]any) []any { return slices.Concat(run...) })
		case *object:
			sum, i = addRun(sum, list, i, r.mergeAll)
		case int:
			if n, ok := sum.(int); ok || sum == nil {
				sum, i = r.addInts(n, list, i)
			}
		case float64:
			if x, ok := sum.(float64); ok {
				sum, i = addFloats(x, list, i)
			}
		}
		if i == from {
			sum = r.plus(sum, list[i])
			i++
		}
	}
	return sum, true
}

// addRun adds what is of type T from i on to sum, if that is one or null. Nulls
// between count for nothing.
func addRun[T any](sum any, list []any, i int, add func([]T) T) (any, int) {
	var run []T
	if was, ok := sum.(T); ok {
		run = append(run, was)
	} else if sum != nil {
		return sum, i
	}
	for ; i < len(list); i++ {
		if list[i] == nil {
			continue
		}
		t, ok := list[i].(T)
		if !ok {
			break
		}
		run = append(run, t)
	}
	return add(run), i
}

func addFloats(sum float64, list []any, i int) (any, int) {
	for ; i < len(list); i++ {
		f, ok := list[i].(float64)
		if !ok {
			break
		}
		sum += f
	}
	return sum, i
}

// addInts adds the integers from i on to sum.
func (r *runner) addInts(sum int, list []any, i int) (any, int) {
	for ; i < len(list); i++ {
		n, ok := list[i].(int)
		if !ok {
			break
		}
		c := sum + n
		if (c >= sum) != (n >= 0) {
			return r.plus(sum, n), i + 1
		}
		sum = c
	}
	return sum, i
}

// mergeAll is the members of all objects, of equal keys the last.
func (r *runner) mergeAll(objects []*object) *object {
	m := map[string]any{}
	for _, o := range objects {
		for i, k := range o.shape.keys {
			r.step()
			m[k] = o.vals[i]
		}
	}
	keys := sortedKeys(m)
	vals := make([]any, len(keys))
	for i, k := range keys {
		vals[i] = m[k]
	}
	return r.conv.shapes.object(keys, vals)
}
