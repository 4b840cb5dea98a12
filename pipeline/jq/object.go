package jq

import (
	"encoding/binary"
	"slices"
	"strings"

	"rlmproxy/pipeline/show"
)

// An object is a JSON object: the values of its shape's keys, in their order.
// Nothing changes it once it is made.
//
// Records of one kind share a shape, so that each costs 32 bytes and 16 for a
// value, where a map takes 344, and a field is found once for all of them.
type object struct {
	shape *shape
	vals  []any
}

// A shape is the sorted keys of objects.
type shape struct {
	keys []string
	// Of a shape that many objects may share; nil of others.
	quoted []string // the keys as an output has them: {"a": and ,"b":
	list   []any    // the keys as jq has them
}

// find is the index of key, or -1.
func (s *shape) find(key string) int {
	if len(s.keys) <= 8 {
		for i, k := range s.keys {
			if k == key {
				return i
			}
		}
		return -1
	}
	if i, ok := slices.BinarySearch(s.keys, key); ok {
		return i
	}
	return -1
}

// names is the keys as jq has them.
func (s *shape) names() []any {
	if s.list != nil {
		return s.list
	}
	list := make([]any, len(s.keys))
	for i, k := range s.keys {
		list[i] = k
	}
	return list
}

// get is the value of key, or nil.
func (o *object) get(key string) any {
	if i := o.shape.find(key); i >= 0 {
		return o.vals[i]
	}
	return nil
}

const (
	// maxShared is how many keys a shared shape has, and maxSteps how many
	// steps lead to those of one document: with more, its keys are data.
	maxShared = 64
	maxSteps  = 4096
)

// shapes finds the shape for keys in the order of a document, a step a key.
// The zero value is ready to use.
type shapes struct {
	root  step
	steps int
	known map[string]*shape // by all keys, each with its length
}

// A step is where the keys so far lead.
type step struct {
	key   string // the last
	plain bool   // the key stands in JSON as it is
	next  *step  // the step seen first
	more  map[string]*step
	shape *shape // of these keys; nil until it was asked for
	slots []int  // where in the shape each key's value goes; nil: in this order
}

// take is the step for key, or nil if there is none and no room for it.
func (s *shapes) take(at *step, key string, depth int) *step {
	if at.next != nil {
		if at.next.key == key {
			return at.next
		}
		if found := at.more[key]; found != nil {
			return found
		}
	}
	if s.steps >= maxSteps || depth >= maxShared {
		return nil
	}
	s.steps++
	// The key may be part of a document that is gone by then.
	key = strings.Clone(key)
	fresh := &step{key: key, plain: !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })}
	switch {
	case at.next == nil:
		at.next = fresh
	case at.more == nil:
		at.more = map[string]*step{}
		fallthrough
	default:
		at.more[key] = fresh
	}
	return fresh
}

// finish gives at, where keys lead, its shape.
func (s *shapes) finish(at *step, keys []string) {
	sh, slots := arrange(keys)
	id := make([]byte, 0, 256)
	for _, k := range sh.keys {
		id = append(binary.AppendUvarint(id, uint64(len(k))), k...)
	}
	if known := s.known[string(id)]; known != nil {
		sh = known
	} else {
		sep := byte('{')
		sh.quoted, sh.list = make([]string, len(sh.keys)), make([]any, len(sh.keys))
		for i, k := range sh.keys {
			k = strings.Clone(k)
			sh.keys[i], sh.list[i] = k, k
			sh.quoted[i] = string(append(show.AppendQuote([]byte{sep}, k), ':'))
			sep = ','
		}
		if s.known == nil {
			s.known = map[string]*shape{}
		}
		s.known[string(id)] = sh
	}
	at.shape, at.slots = sh, slots
}

// arrange is a shape of keys, and where in it the value of each goes. Of equal
// keys the last counts, if values are put there in order.
func arrange(keys []string) (*shape, []int) {
	if slices.IsSorted(keys) && len(slices.Compact(slices.Clone(keys))) == len(keys) {
		return &shape{keys: slices.Clone(keys)}, nil
	}
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(keys[a], keys[b]) })
	sh, slots := &shape{keys: make([]string, 0, len(keys))}, make([]int, len(keys))
	for _, i := range order {
		if n := len(sh.keys); n == 0 || sh.keys[n-1] != keys[i] {
			sh.keys = append(sh.keys, keys[i])
		}
		slots[i] = len(sh.keys) - 1
	}
	return sh, slots
}

// fit is the object of keys and values, which it copies, in vals, which has
// room for them. at is where the keys lead, or nil.
func (s *shapes) fit(at *step, keys []string, values, vals []any) (*shape, []any) {
	var sh *shape
	var slots []int
	if at != nil {
		if at.shape == nil {
			s.finish(at, keys)
		}
		sh, slots = at.shape, at.slots
	} else {
		sh, slots = arrange(keys)
	}
	vals = vals[:len(sh.keys):len(sh.keys)]
	if slots == nil {
		copy(vals, values)
		return sh, vals
	}
	for i, v := range values {
		vals[slots[i]] = v
	}
	return sh, vals
}

// object makes one of keys and values, which it copies.
func (s *shapes) object(keys []string, values []any) *object {
	at := &s.root
	for i, k := range keys {
		if at = s.take(at, k, i); at == nil {
			break
		}
	}
	sh, vals := s.fit(at, keys, values, make([]any, len(keys)))
	return &object{sh, vals}
}
