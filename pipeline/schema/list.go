package schema

import (
	"bytes"
	"iter"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
)

// A List is the part of a document that is its records: an array, the
// lines of JSON Lines, or the members of an object that is a map.
type List struct {
	doc.Value          // the array or object, or the document
	At        doc.Path // of the Value
	Elem      *Node    // of the records; nil if they were not described
	N         int
	Whole     bool                                  // the Value is the document
	InOnly    bool                                  // it is in the only object of an array
	Row       func(record []byte, limit int) string // of a table: how to write a record; else nil
}

// MainList finds the records of v, whose node is root: the array or map
// that has the larger part of the bytes. There may be none. An array of one object
// lists nothing if the object has such a part in turn: the rows of its only
// statement, say.
func MainList(v doc.Value, root *Node) (List, bool) {
	if v.Kind == doc.JSONLines {
		return List{Value: v, Elem: root.Items, N: v.Total, Whole: true}, true
	}
	data, node, at := bytes.TrimSpace(v.Data), root, doc.Path(nil)
	var outer List // an array of one
	found := false
	for {
		l := List{Value: doc.Value{Kind: doc.JSON, Data: data}, At: at, Whole: len(at) == 0, InOnly: found}
		switch jsonscan.Kind(data) {
		case '[':
			if l.N, l.Elem = node.MaxLen, node.Items; l.N == 0 {
				return outer, found
			}
			only := onlyObject(data)
			if only == nil || node.Items == nil {
				return l, true
			}
			if !found {
				outer, found = l, true
			}
			data, node, at = only, node.Items, at.With(doc.Step{Kind: doc.StepIndex})
		case '{':
			if node.Rest != nil {
				l.N, l.Elem = node.Members, node.Rest
				return l, true
			}
			// One member with most of the bytes is what the object is about.
			var next []byte
			var key string
			for k, value := range jsonscan.Fields(data) {
				if 2*len(value) >= len(data) {
					key, next = jsonscan.Unquote(k), value
				}
			}
			f := node.ByName[key]
			if next == nil || f == nil {
				return outer, found
			}
			data, node, at = next, f.Node, at.With(doc.Step{Key: key})
		case '"':
			inner, ok := doc.EnterString(data)
			if !ok || node.Inner == nil {
				return outer, found
			}
			data, node, at = bytes.TrimSpace(inner), node.Inner, at.With(doc.Step{Kind: doc.StepJSON})
		default:
			return outer, found
		}
	}
}

// onlyObject is the item of an array that is one object, or nil.
func onlyObject(data []byte) (only []byte) {
	for _, item := range jsonscan.Items(data) {
		if only != nil || jsonscan.Kind(item) != '{' {
			return nil
		}
		only = item
	}
	return only
}

// All yields the records, each with the step that leads to it.
func (l List) All() iter.Seq2[doc.Step, []byte] {
	return func(yield func(doc.Step, []byte) bool) {
		if l.Kind == doc.JSON && jsonscan.Kind(l.Data) == '{' {
			for key, value := range jsonscan.Fields(l.Data) {
				if !yield(doc.Step{Key: jsonscan.Unquote(key)}, value) {
					return
				}
			}
			return
		}
		for n, value := range doc.Items(l.Value) {
			if !yield(doc.Step{Kind: doc.StepIndex, Index: n}, value) {
				return
			}
		}
	}
}

// ItemUnit is what the records are called.
func (l List) ItemUnit() string {
	switch {
	case l.Kind == doc.JSONLines:
		return "lines"
	case jsonscan.Kind(l.Data) == '{':
		return "fields"
	}
	return "items"
}

// MainText is the string that has most of the bytes of an object, decoded, if
// it is long enough to have lines: the content of a file, say.
func MainText(v doc.Value) (text []byte, at doc.Path, ok bool) {
	if v.Kind != doc.JSON {
		return nil, nil, false
	}
	data := bytes.TrimSpace(v.Data)
	// Each level is read to its end, so the depth is bounded.
	for depth := 0; depth < Depth && jsonscan.Kind(data) == '{'; depth++ {
		var next []byte
		for key, value := range jsonscan.Fields(data) {
			if 4*len(value) >= 3*len(data) {
				next, at = value, at.With(doc.Step{Key: jsonscan.Unquote(key)})
			}
		}
		data = next
	}
	if len(data) < 1000 || jsonscan.Kind(data) != '"' {
		return nil, nil, false
	}
	return []byte(jsonscan.Unquote(data)), at, true
}

// Flat reports that all records are objects without objects or arrays inside.
func (l List) Flat() bool {
	if l.Elem == nil || l.Elem.Kinds[IsObject] < l.Elem.Count || l.Elem.Rest != nil {
		return false
	}
	for _, f := range l.Elem.Fields {
		if f.Node.Kinds[IsObject]+f.Node.Kinds[IsArray] > 0 {
			return false
		}
	}
	return true
}

// OnlyJSON reports that every value is a string that holds JSON, or null.
func (node *Node) OnlyJSON() bool {
	return node.Inner != nil && node.innerMany == node.Kinds[isString] && node.innerMany+node.Kinds[isNull] == node.Count
}
