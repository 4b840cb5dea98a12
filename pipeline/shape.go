package pipeline

import (
	"bytes"
	"context"
	"hash/maphash"
	"strconv"
)

const (
	// manyKeys is where an object looks like a map with ids for keys, if its
	// keys also differ from one object to the next; wideKeys where any does.
	manyKeys = 100
	wideKeys = 500

	// maxDistinct values of a field are kept, of up to maxDistinctBytes.
	maxDistinct      = 8
	maxDistinctBytes = 60

	// maxShapes bounds the memory of one outline, whatever the document.
	maxShapes = 20_000

	// maxKnownKeys of a map are told apart when its keys are counted.
	maxKnownKeys = 100_000
)

// A shape is what all values at one path have in common.
type shape struct {
	count int // values seen
	bytes int // their length as written
	kinds [numKinds]int

	fields  []*field // of objects, in the order of first appearance
	byName  map[string]*field
	members int // of all objects

	rest     *shape // of the values of a map: set once fields are too many
	restKeys map[uint64]struct{}

	items            *shape // of the elements of arrays
	minItems, maxLen int
	minNum, maxNum   float64
	minRaw, maxRaw   []byte // as spelt
	distinct         []valueCount
	overflow         bool // there are more than distinct
	nested           bool // some string holds JSON
}

type field struct {
	name  string
	shape *shape
}

type valueCount struct {
	raw   []byte
	count int
}

const (
	isNull = iota
	isBool
	isNumber
	isString
	isObject
	isArray
	numKinds
)

var kindNames = [numKinds]string{"null", "boolean", "number", "string", "object", "array"}

func typeOf(c byte) int {
	switch c {
	case '{':
		return isObject
	case '[':
		return isArray
	case '"':
		return isString
	case 't', 'f':
		return isBool
	case 'n':
		return isNull
	}
	return isNumber
}

// A surveyor builds shapes in one pass over the bytes. Below the depth
// limit it skips, so memory follows the limit and not the document.
type surveyor struct {
	tick   ticker
	depth  int // levels of fields to enter
	shapes int
	seed   maphash.Seed
}

// survey describes v, JSON Lines as the array of their lines.
func survey(ctx context.Context, v Value, depth int) (*shape, error) {
	s := &surveyor{tick: ticker{ctx: ctx}, depth: depth, seed: maphash.MakeSeed()}
	root := s.new()
	if v.Kind == JSON {
		return root, s.add(root, bytes.TrimSpace(v.Data), depth)
	}
	root.count, root.bytes = 1, len(v.Data)
	root.kinds[isArray] = 1
	root.items = s.new()
	n := 0
	for _, line := range items(v) {
		if err := s.add(root.items, line, depth); err != nil {
			return nil, err
		}
		n++
	}
	root.minItems, root.maxLen = n, n
	return root, nil
}

func (s *surveyor) new() *shape {
	s.shapes++
	return &shape{}
}

func (s *surveyor) add(sh *shape, value []byte, depth int) error {
	if err := s.tick.err(); err != nil {
		return err
	}
	kind := typeOf(value[0])
	sh.count++
	sh.bytes += len(value)
	sh.kinds[kind]++
	switch kind {
	case isObject:
		if depth <= 0 {
			return nil
		}
		for key, member := range members(value) {
			sh.members++
			if err := s.add(s.field(sh, unquote(key)), member, depth-1); err != nil {
				return err
			}
		}
	case isArray:
		n := 0
		if sh.items == nil {
			sh.items = s.new()
		}
		for _, e := range elements(value) {
			n++
			if err := s.element(sh.items, e, depth); err != nil {
				return err
			}
		}
		if sh.kinds[isArray] == 1 || n < sh.minItems {
			sh.minItems = n
		}
		sh.maxLen = max(sh.maxLen, n)
	case isNumber:
		sh.number(value)
		sh.remember(value)
	case isString:
		if !sh.nested && len(value) > 3 && (value[1] == '{' || value[1] == '[') {
			_, sh.nested = enterString(value)
		}
		sh.remember(value)
	case isBool:
		sh.remember(value)
	}
	return nil
}

// element adds an element of an array. Arrays alone do not use up depth, so
// that items[] shows its fields; arrays of arrays do.
func (s *surveyor) element(sh *shape, value []byte, depth int) error {
	if value[0] == '[' {
		depth--
		if depth <= 0 {
			sh.count++
			sh.bytes += len(value)
			sh.kinds[isArray]++
			return s.tick.err()
		}
	}
	return s.add(sh, value, depth)
}

// field returns the shape for a key of sh, which is that of the whole map
// once there are too many keys.
func (s *surveyor) field(sh *shape, name string) *shape {
	if sh.rest == nil {
		if f := sh.byName[name]; f != nil {
			return f.shape
		}
		n := len(sh.fields)
		objects := sh.kinds[isObject]
		isMap := n >= wideKeys || n >= manyKeys && (objects == 1 || sh.members/objects < n/2)
		if !isMap && s.shapes < maxShapes {
			if sh.byName == nil {
				sh.byName = map[string]*field{}
			}
			f := &field{name, s.new()}
			sh.fields = append(sh.fields, f)
			sh.byName[name] = f
			return f.shape
		}
		sh.rest = s.new()
		sh.restKeys = map[uint64]struct{}{}
	}
	if sh.byName[name] == nil && len(sh.restKeys) < maxKnownKeys {
		sh.restKeys[maphash.String(s.seed, name)] = struct{}{}
	}
	return sh.rest
}

func (sh *shape) number(raw []byte) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return // beyond float64: it has no place in a range
	}
	if sh.minRaw == nil || f < sh.minNum {
		sh.minNum, sh.minRaw = f, raw
	}
	if sh.maxRaw == nil || f > sh.maxNum {
		sh.maxNum, sh.maxRaw = f, raw
	}
}

// remember counts a scalar among the distinct ones, while they are few.
func (sh *shape) remember(raw []byte) {
	if sh.overflow {
		return
	}
	for i := range sh.distinct {
		if bytes.Equal(sh.distinct[i].raw, raw) {
			sh.distinct[i].count++
			return
		}
	}
	if len(sh.distinct) == maxDistinct || len(raw) > maxDistinctBytes {
		sh.overflow, sh.distinct = true, nil
		return
	}
	sh.distinct = append(sh.distinct, valueCount{raw, 1})
}

// keys is how many different keys the objects have; more says that it is a
// lower bound.
func (sh *shape) keys() (n int, more bool) {
	return len(sh.fields) + len(sh.restKeys), len(sh.restKeys) >= maxKnownKeys
}

// walk calls visit for every path below sh, in document order.
func (sh *shape) walk(at Path, visit func(at Path, sh, parent *shape)) {
	if sh.items != nil && sh.items.count > 0 {
		at := at.with(Step{Kind: StepEach})
		visit(at, sh.items, sh)
		sh.items.walk(at, visit)
	}
	if sh.rest != nil {
		at := at.with(Step{Kind: StepEach})
		visit(at, sh.rest, sh)
		sh.rest.walk(at, visit)
		return
	}
	for _, f := range sh.fields {
		at := at.with(Step{Key: f.name})
		visit(at, f.shape, sh)
		f.shape.walk(at, visit)
	}
}

// knownPaths lists the paths of v, six levels deep, for errors that name
// what is there. Maps contribute the keys seen before they were too many.
func knownPaths(ctx context.Context, v Value) ([]Path, error) {
	root, err := survey(ctx, v, 6)
	if err != nil {
		return nil, err
	}
	var known []Path
	var add func(sh *shape, at Path)
	add = func(sh *shape, at Path) {
		if len(known) > 5000 {
			return
		}
		if sh.items != nil {
			add(sh.items, at.with(Step{Kind: StepEach}))
		}
		for _, f := range sh.fields {
			at := at.with(Step{Key: f.name})
			known = append(known, at)
			add(f.shape, at)
		}
	}
	add(root, nil)
	return known, nil
}
