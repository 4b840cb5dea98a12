package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
)

const (
	// manyKeys is where an object looks like a map with ids for keys, if its
	// keys also differ from one object to the next; wideKeys where any does.
	manyKeys = 100
	wideKeys = 500

	// maxInner bytes of JSON inside strings are decoded for one survey.
	maxInner = 64 << 20

	// maxShapes bounds the memory of one outline, whatever the document.
	maxShapes = 20_000

	// maxKnownKeys of a map are told apart when its keys are counted.
	maxKnownKeys = 100_000
)

// A shape is what all values at one path have in common.
type shape struct {
	count int    // values seen
	bytes int    // their length as written
	first []byte // the first of them
	// owners are the objects that have the field: fewer than count if some
	// have it twice. lastOwner is the number of the last one.
	owners, lastOwner int
	kinds             [numKinds]int

	fields  []*field // of objects, in the order of first appearance
	byName  map[string]*field
	members int // of all objects

	rest     *shape // of the values of a map: set once fields are too many
	restKeys map[uint64]struct{}

	items            *shape // of the elements of arrays
	minItems, maxLen int

	inner     *shape // of the JSON that strings hold
	innerMany int    // strings that hold JSON

	numbers numberStats
	dates   dateRange
	values  distinct
}

type field struct {
	name  string
	shape *shape
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
	shapes int
	values int // distinct values held, all shapes
	inner  int // bytes decoded from strings
	seed   maphash.Seed
}

// survey describes v, JSON Lines as the array of their lines, and enters depth
// levels of fields.
func survey(ctx context.Context, v Value, depth int) (*shape, error) {
	return memoised(v, fmt.Sprintf("shape/%d", depth), func() (*shape, int64, error) {
		s := &surveyor{tick: ticker{ctx: ctx}, seed: maphash.MakeSeed()}
		root, err := s.survey(v, depth)
		// What a shape and a distinct value take, about.
		return root, int64(400*s.shapes + 100*s.values + s.inner), err
	})
}

func (s *surveyor) survey(v Value, depth int) (*shape, error) {
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
	if err := s.tick.errFor(len(value)); err != nil {
		return err
	}
	switch kind := sh.see(value); kind {
	case isObject:
		if depth <= 0 {
			return nil
		}
		for key, member := range members(value) {
			sh.members++
			f := sh.known(key)
			if f == nil {
				f = s.field(sh, unquote(key))
			}
			if f.lastOwner != sh.kinds[isObject] {
				f.owners++
				f.lastOwner = sh.kinds[isObject]
			}
			if err := s.add(f, member, depth-1); err != nil {
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
		sh.numbers.add(value)
		sh.values.add(value, &s.values)
	case isString:
		sh.dates.add(value)
		sh.values.add(value, &s.values)
		return s.enter(sh, value, depth)
	case isBool:
		sh.values.add(value, &s.values)
	}
	return nil
}

// see counts value and returns its type.
func (sh *shape) see(value []byte) (kind int) {
	if sh.count == 0 {
		sh.first = value
	}
	kind = typeOf(value[0])
	sh.count++
	sh.bytes += len(value)
	sh.kinds[kind]++
	return kind
}

// enter describes the JSON that a string holds, if it does.
func (s *surveyor) enter(sh *shape, value []byte, depth int) error {
	if depth <= 0 || s.inner+len(value) > maxInner {
		return nil
	}
	inner, ok := enterString(value)
	if !ok {
		return nil
	}
	s.inner += len(inner)
	if sh.inner == nil {
		sh.inner = s.new()
	}
	sh.innerMany++
	// Entering takes no depth: what a string holds is shorter than the string.
	return s.add(sh.inner, bytes.TrimSpace(inner), depth)
}

// element adds an element of an array. Arrays alone do not use up depth, so
// that items[] shows its fields; arrays of arrays do.
func (s *surveyor) element(sh *shape, value []byte, depth int) error {
	if value[0] == '[' {
		depth--
		if depth <= 0 {
			sh.see(value)
			return s.tick.err()
		}
	}
	return s.add(sh, value, depth)
}

// known returns the shape for a quoted key, if sh has it and the key needs no
// decoding, as nearly all do.
func (sh *shape) known(key []byte) *shape {
	if sh.rest != nil || bytes.IndexByte(key, '\\') >= 0 {
		return nil
	}
	if f := sh.byName[string(key[1:len(key)-1])]; f != nil {
		return f.shape
	}
	return nil
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
		s.becomeMap(sh)
	}
	s.know(sh, name)
	return sh.rest
}

// becomeMap makes of all fields that sh has seen the values of one map.
func (s *surveyor) becomeMap(sh *shape) {
	sh.rest = s.new()
	sh.restKeys = map[uint64]struct{}{}
	for _, f := range sh.fields {
		s.merge(sh.rest, f.shape)
	}
}

// know counts the key of a map, once.
func (s *surveyor) know(sh *shape, name string) {
	if sh.byName[name] == nil && len(sh.restKeys) < maxKnownKeys {
		sh.restKeys[maphash.String(s.seed, name)] = struct{}{}
	}
}

// keys is how many different keys the objects have; more says that it is a
// lower bound.
func (sh *shape) keys() (n int, more bool) {
	return len(sh.fields) + len(sh.restKeys), len(sh.restKeys) >= maxKnownKeys
}

// A visitor sees a shape, its path and the shape it is in, and says whether to
// go on below it.
type visitor func(at Path, sh, parent *shape) (below bool)

// walk calls visit for every path below sh, in document order. The paths are
// programs that jq runs over the whole document without an error.
func (sh *shape) walk(at Path, visit visitor) {
	sh.walkFrom(at, false, false, visit)
}

// walkFrom is walk for a shape that jq may find null at, where it is missing,
// or that the path leads to among other things: [] takes the values of objects
// also where it is meant for arrays.
func (sh *shape) walkFrom(at Path, missing, astray bool, visit visitor) {
	down := func(step Step, child *shape, missing, astray bool) {
		step.Try = step.Try || astray
		at := at.with(step)
		if visit(at, child, sh) {
			child.walkFrom(at, missing, astray, visit)
		}
	}
	if sh.inner != nil {
		// Other strings may be JSON too, as "42" is.
		others := sh.innerMany < sh.count
		down(Step{Kind: StepJSON, Try: missing || others}, sh.inner, false, astray || others)
	}
	each := Step{Kind: StepEach, Try: missing || sh.kinds[isArray]+sh.kinds[isObject] < sh.count}
	mixed := astray || sh.kinds[isArray] > 0 && sh.kinds[isObject] > 0
	if sh.items != nil && sh.items.count > 0 {
		down(each, sh.items, false, mixed)
	}
	if sh.rest != nil {
		down(each, sh.rest, false, mixed)
		return
	}
	try := sh.kinds[isObject]+sh.kinds[isNull] < sh.count
	missing = missing || sh.kinds[isNull] > 0
	for _, f := range sh.fields {
		down(Step{Key: f.name, Try: try}, f.shape, missing || f.shape.owners < sh.kinds[isObject], astray)
	}
}

// recurs reports whether sh, which the last key of at led to, is a shape like
// one of those above it: a folder in a folder, an answer to an answer. above
// has the shapes at each step of at, the root first.
func (sh *shape) recurs(at Path, above []*shape) (like Path, ok bool) {
	if len(sh.fields) < 2 {
		return nil, false
	}
	for i := len(at) - 1; i >= 0; i-- {
		// What is above has the key that leads here, and so has what is here. Of
		// one alone the fields below are still news.
		if above[i].count == 1 || at[i].Kind != StepKey || sh.byName[at[i].Key] == nil || above[i].byName[at[i].Key] == nil {
			continue
		}
		same := true
		for _, f := range sh.fields {
			same = same && above[i].byName[f.name] != nil
		}
		return at[:i], same
	}
	return nil, false
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
		if sh.inner != nil {
			add(sh.inner, at)
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
