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

	// maxNodes bounds the memory of one outline, whatever the document.
	maxNodes = 20_000

	// alikeKeys objects with like fields, or alikeValues scalars of one type, make
	// the object that they are in a map.
	alikeKeys, alikeValues = 5, 40

	// maxColumns of arrays are told apart.
	maxColumns = 32

	// maxKnownKeys of a map are told apart when its keys are counted.
	maxKnownKeys = 100_000
)

// Depth is how many levels of fields previews and next calls know of.
const Depth = 6

// A surveyor builds nodes in one pass over the bytes. Below the depth
// limit it skips, so memory follows the limit and not the document.
type surveyor struct {
	tick   doc.Ticker
	nodes  int
	values int // distinct values held, all nodes
	inner  int // bytes decoded from strings
	seed   maphash.Seed

	maps  map[uint64]bool // ids of nodes whose objects are maps, as far as they are known
	again bool            // a map was found, whose first values went elsewhere
}

// maxPasses bounds how often a document is surveyed because of the maps in maps.
const maxPasses = 6

// Survey describes v, JSON Lines as the array of their lines, and enters depth
// levels of fields. It reads a document with maps once more, when it knows them.
func Survey(ctx context.Context, v doc.Value, depth int) (*Node, error) {
	return survey(ctx, v, depth, false)
}

// Fold is [Survey] for who reads it: an object whose values are alike, the packages
// of a lock file or the words of a language, is a map also if its keys are few.
func Fold(ctx context.Context, v doc.Value, depth int) (*Node, error) {
	return survey(ctx, v, depth, true)
}

func survey(ctx context.Context, v doc.Value, depth int, fold bool) (*Node, error) {
	return doc.Memoised(v, fmt.Sprintf("schema/%d/%t", depth, fold), func() (*Node, int64, error) {
		maps, seed := map[uint64]bool{}, maphash.MakeSeed()
		for pass := 1; ; pass++ {
			s := &surveyor{tick: doc.Ticker{Ctx: ctx}, seed: seed, maps: maps}
			root, err := s.survey(v, depth)
			if err == nil && fold && pass < maxPasses {
				s.fold(root)
			}
			if err != nil || !s.again || pass == maxPasses {
				// What a node and a distinct value take, about.
				return root, int64(400*s.nodes + 100*s.values + s.inner), err
			}
		}
	})
}

func (s *surveyor) survey(v doc.Value, depth int) (*Node, error) {
	root := s.new(0, "")
	if v.Kind == doc.JSON {
		return root, s.add(root, bytes.TrimSpace(v.Data), depth)
	}
	root.Count, root.Bytes = 1, len(v.Data)
	root.Kinds[IsArray] = 1
	root.Items = s.new(root.id, "[]")
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

// new is the node for what step leads to from the node of.
func (s *surveyor) new(of uint64, step string) *Node {
	s.nodes++
	node := &Node{id: maphash.Comparable(s.seed, struct {
		of   uint64
		step string
	}{of, step})}
	if s.maps[node.id] {
		s.isMap(node)
	}
	return node
}

func (s *surveyor) add(node *Node, value []byte, depth int) error {
	if err := s.tick.ErrFor(len(value)); err != nil {
		return err
	}
	switch kind := node.see(value); kind {
	case IsObject:
		if depth <= 0 {
			return nil
		}
		for key, member := range jsonscan.Fields(value) {
			node.Members++
			f := node.known(key)
			if f == nil {
				f = s.field(node, jsonscan.Unquote(key))
			}
			if f.lastOwner != node.Kinds[IsObject] {
				f.Owners++
				f.lastOwner = node.Kinds[IsObject]
			}
			if err := s.add(f, member, depth-1); err != nil {
				return err
			}
		}
	case IsArray:
		n := 0
		if node.Items == nil {
			node.Items = s.new(node.id, "[]")
		}
		for _, e := range jsonscan.Items(value) {
			s.column(node, n, e)
			n++
			if err := s.element(node.Items, e, depth); err != nil {
				return err
			}
		}
		if node.Kinds[IsArray] == 1 || n < node.minItems {
			node.minItems = n
		}
		node.MaxLen = max(node.MaxLen, n)
		if n != len(node.Columns) {
			s.noColumns(node)
		}
	default:
		s.scalar(node, value, kind)
		if kind == isString {
			return s.enter(node, value, depth)
		}
	}
	return nil
}

// scalar adds a value of kind, which see has counted.
func (s *surveyor) scalar(node *Node, value []byte, kind int) {
	switch kind {
	case isNumber:
		node.Numbers.add(value)
	case isString:
		node.dates.add(value)
		if node.example == nil && len(value) > 2 {
			node.example = value
		}
	case isBool:
	default:
		return
	}
	node.Values.add(value, &s.values)
}

// column adds element i of an array to those at its place in other arrays.
func (s *surveyor) column(node *Node, i int, value []byte) {
	if node.Kinds[IsArray] == 1 && i == len(node.Columns) && i < maxColumns && s.nodes < maxNodes {
		node.Columns = append(node.Columns, s.new(node.id, "[column]"))
	}
	if i < len(node.Columns) {
		c := node.Columns[i]
		s.scalar(c, value, c.see(value))
	}
}

// noColumns forgets the columns of arrays whose lengths differ, or are large.
func (s *surveyor) noColumns(node *Node) {
	for _, c := range node.Columns {
		s.values -= len(c.Values.List)
	}
	node.Columns = nil
}

// fold notes the objects below node whose values are alike as maps.
func (s *surveyor) fold(node *Node) {
	if node.Rest == nil && node.alike() {
		s.maps[node.id], s.again = true, true
		return
	}
	for _, below := range []*Node{node.Items, node.Inner, node.Rest} {
		if below != nil {
			s.fold(below)
		}
	}
	if node.Rest == nil {
		for _, f := range node.Fields {
			s.fold(f.Node)
		}
	}
}

// alike reports whether all values of node's objects look like one another, so that
// their keys are what tells them apart.
func (node *Node) alike() bool {
	n := len(node.Fields)
	if n < alikeKeys || node.Kinds[IsObject] == 0 || node.Kinds[IsObject] > 1 && 2*node.Members > n*node.Kinds[IsObject] {
		return false // most objects have most of the keys
	}
	kind := typeOf(node.Fields[0].Node.first[0])
	names := map[string]bool{} // of the fields below
	sum := 0
	for _, f := range node.Fields {
		below := f.Node
		if below.Kinds[kind] < below.Count {
			return false
		}
		if kind == IsArray {
			if below = below.Items; below == nil || below.Kinds[IsObject] < below.Count {
				return false
			}
		}
		for _, g := range below.Fields {
			names[g.Name] = true
		}
		sum += len(below.Fields)
	}
	if kind != IsObject && kind != IsArray {
		return n >= alikeValues
	}
	// Of all names together, each value has most, about.
	return sum > 0 && 2*sum >= n*len(names)
}

// see counts value and returns its type.
func (node *Node) see(value []byte) (kind int) {
	if node.Count == 0 {
		node.first = value
	}
	kind = typeOf(value[0])
	node.Count++
	node.Bytes += len(value)
	node.Kinds[kind]++
	return kind
}

// enter describes the JSON that a string holds, if it does.
func (s *surveyor) enter(node *Node, value []byte, depth int) error {
	if depth <= 0 || s.inner+len(value) > maxInner {
		return nil
	}
	inner, ok := doc.EnterString(value)
	if !ok {
		return nil
	}
	s.inner += len(inner)
	if node.Inner == nil {
		node.Inner = s.new(node.id, "|fromjson")
	}
	node.innerMany++
	// Entering takes no depth: what a string holds is shorter than the string.
	return s.add(node.Inner, bytes.TrimSpace(inner), depth)
}

// element adds an element of an array. Arrays alone do not use up depth, so
// that items[] shows its fields; arrays of arrays do.
func (s *surveyor) element(node *Node, value []byte, depth int) error {
	if value[0] == '[' {
		depth--
		if depth <= 0 {
			node.see(value)
			return s.tick.Err()
		}
	}
	return s.add(node, value, depth)
}

// known returns the node for a quoted key, if node has it and the key needs no
// decoding, as nearly all do.
func (node *Node) known(key []byte) *Node {
	if node.Rest != nil || bytes.IndexByte(key, '\\') >= 0 {
		return nil
	}
	if f := node.ByName[string(key[1:len(key)-1])]; f != nil {
		return f.Node
	}
	return nil
}

// field returns the node for a key of node, which is that of the whole map once
// there are too many keys.
func (s *surveyor) field(node *Node, name string) *Node {
	if node.Rest == nil {
		if f := node.ByName[name]; f != nil {
			return f.Node
		}
		n := len(node.Fields)
		objects := node.Kinds[IsObject]
		isMap := n >= wideKeys || n >= manyKeys && (objects == 1 || node.Members/objects < n/2)
		if !isMap && s.nodes < maxNodes {
			return s.newField(node, name, s.new(node.id, name))
		}
		s.maps[node.id], s.again = true, true
		s.isMap(node)
	}
	if node.ByName[name] == nil {
		if len(node.Fields) < manyKeys {
			return s.newField(node, name, node.Rest)
		}
		if len(node.restKeys) < maxKnownKeys {
			node.restKeys[maphash.String(s.seed, name)] = struct{}{}
		}
	}
	return node.Rest
}

func (s *surveyor) newField(node *Node, name string, of *Node) *Node {
	f := &Field{name, of}
	if node.ByName == nil {
		node.ByName = map[string]*Field{}
	}
	node.Fields = append(node.Fields, f)
	node.ByName[name] = f
	return of
}

// isMap makes one node of all fields that node has from now on.
func (s *surveyor) isMap(node *Node) {
	node.Rest = s.new(node.id, "{}")
	node.restKeys = map[uint64]struct{}{}
}
