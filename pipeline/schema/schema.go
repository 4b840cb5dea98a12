// Package schema infers what a JSON document looks like.
//
//	document ──► Survey ──► Node: all values at one path, with types, counts, ranges
//	                        ├─► Describe: what is told of a path
//	                        ├─► MainList: the records that the document is about
//	                        └─► Outliers: the records that differ from the others
//
// Memory follows the depth limit and not the document.
package schema

import (
	"bytes"
	"context"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// A Node is what all values at one path have in common.
type Node struct {
	id    uint64 // of the path
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
	// Columns are the elements by place, while all arrays have the same few.
	Columns []*Node

	Inner     *Node // of the JSON that strings hold
	innerMany int   // strings that hold JSON

	Numbers numberStats
	dates   dateRange
	Values  distinct
	example []byte // the first string that is not empty
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

// keys is how many different keys the objects have; more says that it is a
// lower bound.
func (node *Node) keys() (n int, more bool) {
	return len(node.Fields) + len(node.restKeys), len(node.restKeys) >= maxKnownKeys
}

// rank is where a field stands among those of one object: short scalars first,
// then objects and arrays, last what is dull.
func (node *Node) rank() int {
	switch {
	case node.Dull() || node.IsLong():
		return 2
	case node.Kinds[IsObject]+node.Kinds[IsArray] > 0:
		return 1
	}
	return 0
}

// IsURL reports that the values are strings like the address of a page.
func (node *Node) IsURL() bool {
	return bytes.HasPrefix(node.example, []byte(`"http`)) && bytes.Contains(node.example[:min(len(node.example), 9)], []byte("://")) &&
		node.Kinds[isString]+node.Kinds[isNull] == node.Count
}

// Dull reports that a value says little of its record: it is the same in all, an
// address or a hash.
func (node *Node) Dull() bool { return node.Constant() != "" || node.IsURL() || opaque(node.example) }

// IsLong reports that the values are long texts.
func (node *Node) IsLong() bool {
	return node.Bytes > 200*node.Count && node.Items == nil && len(node.Fields) == 0 && node.Rest == nil
}

// opaque reports whether a JSON string is an id or a hash that no reader knows: long, of
// letters and digits mixed.
func opaque(raw []byte) bool {
	digits, letters := 0, 0
	for _, c := range raw {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		case c != '-' && c != '_' && c != '=' && c != '+' && c != '/' && c != '"':
			return false
		}
	}
	return digits >= 4 && letters >= 2 && digits+letters >= 24
}

// IsText reports that all values are strings.
func (node *Node) IsText() bool { return node.Kinds[isString] == node.Count }

// Constant is the value that all of several values are, if they are, as it
// stands in a line: null, [], or a short scalar. Else it is "".
func (node *Node) Constant() string {
	switch {
	case node.Count < 2:
	case node.Kinds[isNull] == node.Count:
		return "null"
	case node.Kinds[IsArray] == node.Count && node.MaxLen == 0:
		return "[]"
	case len(node.Values.List) == 1 && node.Values.List[0].count == node.Count:
		return show.Clip(show.Printable(node.Values.List[0].raw), maxDistinctBytes)
	}
	return ""
}

// Value is the short scalar that is there once, or "".
func (node *Node) Value() string {
	if node.Count != 1 || jsonscan.IsContainer(node.first) || node.Inner != nil || len(node.first) > 2*maxDistinctBytes {
		return ""
	}
	return show.Printable(node.first)
}

// IsTable reports that the values are rows of a table: arrays of one length,
// with scalars in them.
func (node *Node) IsTable() bool {
	if len(node.Columns) < 2 || node.Kinds[IsArray] < 2 || node.Items.Inner != nil {
		return false
	}
	return node.Items.Kinds[IsObject]+node.Items.Kinds[IsArray] == 0
}

// ColumnNames are those of the rows of a table in a field of node: another
// field is an array of as many strings. It may be nil.
func (node *Node) ColumnNames(n int) (names []string) {
	for _, f := range node.Fields {
		if f.Node.Kinds[IsArray] == 1 && f.Node.Count == 1 && f.Node.MaxLen == n && f.Node.Items.Kinds[isString] == n && len(f.Node.Columns) == n {
			for _, c := range f.Node.Columns {
				names = append(names, show.Clip(show.Printable(jsonscan.Unquote(c.first)), 40))
			}
			return names
		}
	}
	return nil
}

// A visitor sees a node, its path and the node it is in, and says whether to
// go on below it.
type visitor func(at doc.Path, node, parent *Node) (below bool)

// Walk calls visit for every path below node, in document order but that short
// scalars come first and constants last. The paths are programs that jq runs over
// the whole document without an error.
func (node *Node) Walk(at doc.Path, visit visitor) {
	node.walkFrom(at, false, false, visit)
}

// walkFrom is Walk for a node that jq may find null at, where it is missing,
// or that the path leads to among other things: [] takes the values of objects
// also where it is meant for arrays.
func (node *Node) walkFrom(at doc.Path, missing, astray bool, visit visitor) {
	down := func(step doc.Step, child *Node, missing, astray bool) {
		step.Try = step.Try || astray
		at := at.With(step)
		if visit(at, child, node) {
			child.walkFrom(at, missing, astray, visit)
		}
	}
	if node.Inner != nil {
		// Other strings may be JSON too, as "42" is.
		others := node.innerMany < node.Count
		down(doc.Step{Kind: doc.StepJSON, Try: missing || others}, node.Inner, false, astray || others)
	}
	each := doc.Step{Kind: doc.StepEach, Try: missing || node.Kinds[IsArray]+node.Kinds[IsObject] < node.Count}
	mixed := astray || node.Kinds[IsArray] > 0 && node.Kinds[IsObject] > 0
	if node.IsTable() {
		try := node.Kinds[IsArray]+node.Kinds[isNull] < node.Count
		for i, c := range node.Columns {
			down(doc.Step{Kind: doc.StepIndex, Index: i, Try: try}, c, missing, astray)
		}
	} else if node.Items != nil && node.Items.Count > 0 {
		down(each, node.Items, false, mixed)
	}
	if node.Rest != nil {
		down(each, node.Rest, false, mixed)
		return
	}
	try := node.Kinds[IsObject]+node.Kinds[isNull] < node.Count
	missing = missing || node.Kinds[isNull] > 0
	fields := slices.Clone(node.Fields)
	slices.SortStableFunc(fields, func(a, b *Field) int { return a.Node.rank() - b.Node.rank() })
	for _, f := range fields {
		down(doc.Step{Key: f.Name, Try: try}, f.Node, missing || f.Node.Owners < node.Kinds[IsObject], astray)
	}
}

// Recurs reports whether node, which the last key of at led to, is a node like
// one of those above it: a folder in a folder, an answer to an answer. above
// has the nodes at each step of at, the root first.
func (node *Node) Recurs(at doc.Path, above []*Node) (like doc.Path, ok bool) {
	if len(node.Fields) < 2 {
		return nil, false
	}
	for i := len(at) - 1; i >= 0; i-- {
		// What is above has the key that leads here, and so has what is here. Of
		// one alone the fields below are still news.
		if above[i].Count == 1 || at[i].Kind != doc.StepKey || node.ByName[at[i].Key] == nil || above[i].ByName[at[i].Key] == nil {
			continue
		}
		same := true
		for _, f := range node.Fields {
			same = same && above[i].ByName[f.Name] != nil
		}
		return at[:i], same
	}
	return nil, false
}

// KnownPaths lists the paths of v, six levels deep, for errors that name
// what is there. Maps contribute their first keys.
func KnownPaths(ctx context.Context, v doc.Value) ([]doc.Path, error) {
	root, err := Survey(ctx, v, 6)
	if err != nil {
		return nil, err
	}
	return root.Paths(), nil
}

// Paths lists the paths below node.
func (node *Node) Paths() []doc.Path {
	var known []doc.Path
	var add func(node *Node, at doc.Path)
	add = func(node *Node, at doc.Path) {
		if len(known) > 5000 {
			return
		}
		if node.Inner != nil {
			add(node.Inner, at)
		}
		if node.Items != nil {
			add(node.Items, at.With(doc.Step{Kind: doc.StepEach}))
		}
		for _, f := range node.Fields {
			at := at.With(doc.Step{Key: f.Name})
			known = append(known, at)
			add(f.Node, at)
		}
	}
	add(node, nil)
	return known
}

// Only is the type of all values but null, or empty.
func (node *Node) Only() string {
	for kind, n := range node.Kinds {
		if n > 0 && n+node.Kinds[isNull] == node.Count && kind != isNull {
			return kindNames[kind]
		}
	}
	return ""
}
