// Package schema infers what a JSON document looks like.
//
//	document ──► Survey ──► Node: all values at one path, with types, counts, ranges
//	                        ├─► PathLines: a line for each path
//	                        ├─► MainList: the records that the document is about
//	                        └─► Outliers: the records that differ from the others
//
// One pass over the bytes; memory follows the depth limit and not the document.
package schema

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
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

// A Node is what all values at one path have in common.
type Node struct {
	Count int    // values seen
	Bytes int    // their length as written
	first []byte // the first of them
	// owners are the objects that have the field: fewer than count if some
	// have it twice. lastOwner is the number of the last one.
	Owners, lastOwner int
	Kinds             [numKinds]int

	Fields  []*Field // of objects, in the order of first appearance
	ByName  map[string]*Field
	Members int // of all objects

	Rest     *Node // of the values of a map: set once fields are too many
	restKeys map[uint64]struct{}

	Items            *Node // of the elements of arrays
	minItems, MaxLen int

	Inner     *Node // of the JSON that strings hold
	innerMany int   // strings that hold JSON

	Numbers numberStats
	dates   dateRange
	Values  distinct
}

type Field struct {
	Name string
	Node *Node
}

const (
	isNull = iota
	isBool
	isNumber
	isString
	IsObject
	IsArray
	numKinds
)

var kindNames = [numKinds]string{"null", "boolean", "number", "string", "object", "array"}

func typeOf(c byte) int {
	switch c {
	case '{':
		return IsObject
	case '[':
		return IsArray
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
	tick   doc.Ticker
	shapes int
	values int // distinct values held, all shapes
	inner  int // bytes decoded from strings
	seed   maphash.Seed
}

// Survey describes v, JSON Lines as the array of their lines, and enters depth
// levels of fields.
func Survey(ctx context.Context, v doc.Value, depth int) (*Node, error) {
	return doc.Memoised(v, fmt.Sprintf("shape/%d", depth), func() (*Node, int64, error) {
		s := &surveyor{tick: doc.Ticker{Ctx: ctx}, seed: maphash.MakeSeed()}
		root, err := s.survey(v, depth)
		// What a shape and a distinct value take, about.
		return root, int64(400*s.shapes + 100*s.values + s.inner), err
	})
}

func (s *surveyor) survey(v doc.Value, depth int) (*Node, error) {
	root := s.new()
	if v.Kind == doc.JSON {
		return root, s.add(root, bytes.TrimSpace(v.Data), depth)
	}
	root.Count, root.Bytes = 1, len(v.Data)
	root.Kinds[IsArray] = 1
	root.Items = s.new()
	n := 0
	for _, line := range doc.Items(v) {
		if err := s.add(root.Items, line, depth); err != nil {
			return nil, err
		}
		n++
	}
	root.minItems, root.MaxLen = n, n
	return root, nil
}

func (s *surveyor) new() *Node {
	s.shapes++
	return &Node{}
}

func (s *surveyor) add(sh *Node, value []byte, depth int) error {
	if err := s.tick.ErrFor(len(value)); err != nil {
		return err
	}
	switch kind := sh.see(value); kind {
	case IsObject:
		if depth <= 0 {
			return nil
		}
		for key, member := range jsonscan.Fields(value) {
			sh.Members++
			f := sh.known(key)
			if f == nil {
				f = s.field(sh, jsonscan.Unquote(key))
			}
			if f.lastOwner != sh.Kinds[IsObject] {
				f.Owners++
				f.lastOwner = sh.Kinds[IsObject]
			}
			if err := s.add(f, member, depth-1); err != nil {
				return err
			}
		}
	case IsArray:
		n := 0
		if sh.Items == nil {
			sh.Items = s.new()
		}
		for _, e := range jsonscan.Items(value) {
			n++
			if err := s.element(sh.Items, e, depth); err != nil {
				return err
			}
		}
		if sh.Kinds[IsArray] == 1 || n < sh.minItems {
			sh.minItems = n
		}
		sh.MaxLen = max(sh.MaxLen, n)
	case isNumber:
		sh.Numbers.add(value)
		sh.Values.add(value, &s.values)
	case isString:
		sh.dates.add(value)
		sh.Values.add(value, &s.values)
		return s.enter(sh, value, depth)
	case isBool:
		sh.Values.add(value, &s.values)
	}
	return nil
}

// see counts value and returns its type.
func (sh *Node) see(value []byte) (kind int) {
	if sh.Count == 0 {
		sh.first = value
	}
	kind = typeOf(value[0])
	sh.Count++
	sh.Bytes += len(value)
	sh.Kinds[kind]++
	return kind
}

// enter describes the JSON that a string holds, if it does.
func (s *surveyor) enter(sh *Node, value []byte, depth int) error {
	if depth <= 0 || s.inner+len(value) > maxInner {
		return nil
	}
	inner, ok := doc.EnterString(value)
	if !ok {
		return nil
	}
	s.inner += len(inner)
	if sh.Inner == nil {
		sh.Inner = s.new()
	}
	sh.innerMany++
	// Entering takes no depth: what a string holds is shorter than the string.
	return s.add(sh.Inner, bytes.TrimSpace(inner), depth)
}

// element adds an element of an array. Arrays alone do not use up depth, so
// that items[] shows its fields; arrays of arrays do.
func (s *surveyor) element(sh *Node, value []byte, depth int) error {
	if value[0] == '[' {
		depth--
		if depth <= 0 {
			sh.see(value)
			return s.tick.Err()
		}
	}
	return s.add(sh, value, depth)
}

// known returns the shape for a quoted key, if sh has it and the key needs no
// decoding, as nearly all do.
func (sh *Node) known(key []byte) *Node {
	if sh.Rest != nil || bytes.IndexByte(key, '\\') >= 0 {
		return nil
	}
	if f := sh.ByName[string(key[1:len(key)-1])]; f != nil {
		return f.Node
	}
	return nil
}

// field returns the shape for a key of sh, which is that of the whole map
// once there are too many keys.
func (s *surveyor) field(sh *Node, name string) *Node {
	if sh.Rest == nil {
		if f := sh.ByName[name]; f != nil {
			return f.Node
		}
		n := len(sh.Fields)
		objects := sh.Kinds[IsObject]
		isMap := n >= wideKeys || n >= manyKeys && (objects == 1 || sh.Members/objects < n/2)
		if !isMap && s.shapes < maxShapes {
			if sh.ByName == nil {
				sh.ByName = map[string]*Field{}
			}
			f := &Field{name, s.new()}
			sh.Fields = append(sh.Fields, f)
			sh.ByName[name] = f
			return f.Node
		}
		s.becomeMap(sh)
	}
	s.know(sh, name)
	return sh.Rest
}

// becomeMap makes of all fields that sh has seen the values of one map.
func (s *surveyor) becomeMap(sh *Node) {
	sh.Rest = s.new()
	sh.restKeys = map[uint64]struct{}{}
	for _, f := range sh.Fields {
		s.merge(sh.Rest, f.Node)
	}
}

// know counts the key of a map, once.
func (s *surveyor) know(sh *Node, name string) {
	if sh.ByName[name] == nil && len(sh.restKeys) < maxKnownKeys {
		sh.restKeys[maphash.String(s.seed, name)] = struct{}{}
	}
}

// keys is how many different keys the objects have; more says that it is a
// lower bound.
func (sh *Node) keys() (n int, more bool) {
	return len(sh.Fields) + len(sh.restKeys), len(sh.restKeys) >= maxKnownKeys
}

// A visitor sees a shape, its path and the shape it is in, and says whether to
// go on below it.
type visitor func(at doc.Path, sh, parent *Node) (below bool)

// Walk calls visit for every path below sh, in document order. The paths are
// programs that jq runs over the whole document without an error.
func (sh *Node) Walk(at doc.Path, visit visitor) {
	sh.walkFrom(at, false, false, visit)
}

// walkFrom is walk for a shape that jq may find null at, where it is missing,
// or that the path leads to among other things: [] takes the values of objects
// also where it is meant for arrays.
func (sh *Node) walkFrom(at doc.Path, missing, astray bool, visit visitor) {
	down := func(step doc.Step, child *Node, missing, astray bool) {
		step.Try = step.Try || astray
		at := at.With(step)
		if visit(at, child, sh) {
			child.walkFrom(at, missing, astray, visit)
		}
	}
	if sh.Inner != nil {
		// Other strings may be JSON too, as "42" is.
		others := sh.innerMany < sh.Count
		down(doc.Step{Kind: doc.StepJSON, Try: missing || others}, sh.Inner, false, astray || others)
	}
	each := doc.Step{Kind: doc.StepEach, Try: missing || sh.Kinds[IsArray]+sh.Kinds[IsObject] < sh.Count}
	mixed := astray || sh.Kinds[IsArray] > 0 && sh.Kinds[IsObject] > 0
	if sh.Items != nil && sh.Items.Count > 0 {
		down(each, sh.Items, false, mixed)
	}
	if sh.Rest != nil {
		down(each, sh.Rest, false, mixed)
		return
	}
	try := sh.Kinds[IsObject]+sh.Kinds[isNull] < sh.Count
	missing = missing || sh.Kinds[isNull] > 0
	for _, f := range sh.Fields {
		down(doc.Step{Key: f.Name, Try: try}, f.Node, missing || f.Node.Owners < sh.Kinds[IsObject], astray)
	}
}

// recurs reports whether sh, which the last key of at led to, is a shape like
// one of those above it: a folder in a folder, an answer to an answer. above
// has the shapes at each step of at, the root first.
func (sh *Node) recurs(at doc.Path, above []*Node) (like doc.Path, ok bool) {
	if len(sh.Fields) < 2 {
		return nil, false
	}
	for i := len(at) - 1; i >= 0; i-- {
		// What is above has the key that leads here, and so has what is here. Of
		// one alone the fields below are still news.
		if above[i].Count == 1 || at[i].Kind != doc.StepKey || sh.ByName[at[i].Key] == nil || above[i].ByName[at[i].Key] == nil {
			continue
		}
		same := true
		for _, f := range sh.Fields {
			same = same && above[i].ByName[f.Name] != nil
		}
		return at[:i], same
	}
	return nil, false
}

// KnownPaths lists the paths of v, six levels deep, for errors that name
// what is there. Maps contribute the keys seen before they were too many.
func KnownPaths(ctx context.Context, v doc.Value) ([]doc.Path, error) {
	root, err := Survey(ctx, v, 6)
	if err != nil {
		return nil, err
	}
	var known []doc.Path
	var add func(sh *Node, at doc.Path)
	add = func(sh *Node, at doc.Path) {
		if len(known) > 5000 {
			return
		}
		if sh.Inner != nil {
			add(sh.Inner, at)
		}
		if sh.Items != nil {
			add(sh.Items, at.With(doc.Step{Kind: doc.StepEach}))
		}
		for _, f := range sh.Fields {
			at := at.With(doc.Step{Key: f.Name})
			known = append(known, at)
			add(f.Node, at)
		}
	}
	add(root, nil)
	return known, nil
}

// Depth is how many levels of fields previews and next calls know of.
const Depth = 4
